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
  /** A read that answers only after its record has ended must hold nothing. */
  readonly #ended = new WeakSet<Delivery>();

  constructor(objects: Pick<Objects, "get">) {
    this.#objects = objects;
  }

  /** Reads an object for a record, which holds it until it is let go. One record always has room for its own. */
  get(
    delivery: Delivery,
    { bucket, key }: { readonly bucket: string; readonly key: string },
  ): ReturnType<Objects["get"]> {
    return this.#objects.get(bucket, key, (bytes) => {
      if (this.#ended.has(delivery)) return false;
      const own = (this.#bytes.get(delivery) ?? 0) + bytes;
      const others = [...this.#bytes].reduce((sum, [other, held]) => (other === delivery ? sum : sum + held), 0);
      if (others > 0 && others + own > objectsHeldBytesMax) return false;
      this.#bytes.set(delivery, own);
      return true;
    });
  }

  letGo(delivery: Delivery): void {
    this.#bytes.delete(delivery);
    this.#ended.add(delivery);
  }
}
