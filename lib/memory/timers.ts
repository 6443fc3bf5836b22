export interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
  readonly cancel: () => void;
}

interface Entry extends Timer {
  /** Of timers of one time, the one that was set first comes first. */
  readonly place: number;
  cancelled: boolean;
}

/** Timers by their time: a binary heap, for worlds in which thousands of them stand at once. */
export class Timers {
  readonly #heap: Entry[] = [];
  #added = 0;

  add(atMs: number, fire: () => void): Timer {
    const entry: Entry = {
      atMs,
      fire,
      place: this.#added++,
      cancelled: false,
      cancel: () => {
        entry.cancelled = true;
      },
    };
    this.#rise(entry);
    return entry;
  }

  /** The earliest. It stays until it is cancelled. */
  next(): Timer | undefined {
    // What was cancelled lies where it is until its turn comes: to search for it would cost more.
    while (this.#heap[0]?.cancelled === true) this.#removeFirst();
    return this.#heap[0];
  }

  /** Into the last place, then up past every parent that comes later. */
  #rise(entry: Entry): void {
    let index = this.#heap.length;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex];
      if (parent === undefined || isBefore(parent, entry)) break;
      this.#heap[index] = parent;
      index = parentIndex;
    }
    this.#heap[index] = entry;
  }

  /** The last one goes to the top, then down past every child that comes earlier. */
  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let index = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * index + 1], this.#heap[2 * index + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(last, child)) break;
      this.#heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    this.#heap[index] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.place < b.place);
}
