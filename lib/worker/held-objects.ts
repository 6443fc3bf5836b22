import { objectsHeldBytesMax } from "../core/limits.ts";
import type { Delivery } from "../core/job.ts";
import type { Objects } from "../ports.ts";

/**
 * What the records at work have read from S3. A container holds so much at once and no more: it would die of ten pictures,
 * and nine healthy jobs with it.
 */
export class HeldObjects {
  readonly #objects: Pick<Objects, "get">;
  readonly #bytes = new Map<Delivery, number>();

  constructor(objects: Pick<Objects, "get">) {
    this.#objects = objects;
  }

  /** Reads an object for a record, which holds it until it is let go. One always has room, however big it is. */
  get(
    delivery: Delivery,
    { bucket, key }: { readonly bucket: string; readonly key: string },
  ): ReturnType<Objects["get"]> {
    return this.#objects.get(bucket, key, (bytes) => {
      const held = [...this.#bytes.values()].reduce((sum, each) => sum + each, 0);
      if (held > 0 && held + bytes > objectsHeldBytesMax) return false;
      this.#bytes.set(delivery, (this.#bytes.get(delivery) ?? 0) + bytes);
      return true;
    });
  }

  letGo(delivery: Delivery): void {
    this.#bytes.delete(delivery);
  }
}
