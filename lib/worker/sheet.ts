import type { RowWritten } from "../ports.ts";

/** A change that was written: what it was made of, and what it made. */
export interface Changed<Row> {
  readonly seen: Row | undefined;
  readonly next: Row;
}

const changeTriesMax = 2;

/** The rows of one kind as they were last known here, read together and written one by one, as seen. */
export class Sheet<Row> {
  readonly #same: (a: Row | undefined, b: Row | undefined) => boolean;
  readonly #write: (name: string, seen: Row | undefined, next: Row) => Promise<RowWritten<Row>>;
  readonly #rows = new Map<string, Row>();
  /** Learned by writing while a read was under way: what that read brings may be older. */
  readonly #learned = new Set<string>();
  readonly #changing = new Map<string, Promise<unknown>>();

  constructor(
    same: (a: Row | undefined, b: Row | undefined) => boolean,
    write: (name: string, seen: Row | undefined, next: Row) => Promise<RowWritten<Row>>,
  ) {
    this.#same = same;
    this.#write = write;
  }

  get(name: string): Row | undefined {
    return this.#rows.get(name);
  }

  beginRead(): void {
    this.#learned.clear();
  }

  /** `names` were asked for; those that `read` has not are no more. */
  endRead(names: readonly string[], read: ReadonlyMap<string, Row>): void {
    for (const name of names) if (!this.#learned.has(name)) this.#set(name, read.get(name));
  }

  /**
   * One change of a row at a time: ten that fail together would refuse each other, and most would go unheard. `supposed`:
   * the row that is tried as seen first, whatever was read.
   */
  async change(
    name: string,
    change: (seen: Row | undefined) => Row | undefined,
    supposed?: Row,
  ): Promise<Changed<Row> | undefined> {
    const before = this.#changing.get(name) ?? Promise.resolve();
    const changing = before.then(() => this.#changeNow(name, change, supposed));
    const over = changing.catch(() => undefined);
    this.#changing.set(name, over);
    void over.then(() => {
      if (this.#changing.get(name) === over) this.#changing.delete(name);
    });
    return await changing;
  }

  async #changeNow(
    name: string,
    change: (seen: Row | undefined) => Row | undefined,
    supposed: Row | undefined,
  ): Promise<Changed<Row> | undefined> {
    for (let tries = 0; tries < changeTriesMax; tries++) {
      const seen = (tries === 0 ? supposed : undefined) ?? this.#rows.get(name);
      const next = change(seen);
      if (next === undefined) return undefined;
      const written = await this.#write(name, seen, next);
      // A resend is refused by its own success: the row that stands is ours then.
      const won = written.kind === "written" || this.#same(written.stands, next);
      this.#learn(name, written.kind === "written" ? next : written.stands);
      if (won) return { seen, next };
    }
    return undefined;
  }

  #learn(name: string, row: Row | undefined): void {
    this.#learned.add(name);
    this.#set(name, row);
  }

  #set(name: string, row: Row | undefined): void {
    if (row === undefined) this.#rows.delete(name);
    else this.#rows.set(name, row);
  }
}
