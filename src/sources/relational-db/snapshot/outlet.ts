/** Batches between those who read and the one who takes them: so many are not durable yet, and no more. */
import type { Batch } from "../../source.ts";

/** What a reader is told whose batch nobody wants any more. */
class Closed extends Error {}

export class Outlet {
  /** Places for batches that are not durable. */
  #places: number;
  readonly #ready: Batch[] = [];
  readonly #waiting: { readonly enter: () => void; readonly leave: (error: Error) => void }[] = [];
  #wake: () => void = () => {};
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(places: number) {
    this.#places = places;
  }

  /** Resolves when there was a place for the batch; rejects when the outlet is closed. */
  async give(batch: Batch): Promise<void> {
    if (this.#isOver) throw new Closed("the copy is over");
    if (this.#places > 0) this.#places -= 1;
    else await new Promise<void>((enter, leave) => this.#waiting.push({ enter, leave }));
    this.#ready.push(batch);
    this.#wake();
  }

  /** The next batch; undefined when there is none to come. Throws what `fail` was told, after the batches before it. */
  async next(): Promise<Batch | undefined> {
    for (;;) {
      const batch = this.#ready.shift();
      if (batch !== undefined) return batch;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isOver) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** A batch that was taken is durable: its place is free. */
  free(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#places += 1;
    else next.enter();
  }

  /** The batches that are ready are the last ones, and then comes this error. Says nothing when the outlet is closed. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    this.close();
  }

  /** Nothing more is taken. What is ready can still be had. */
  close(): void {
    this.#isOver = true;
    for (const { leave } of this.#waiting.splice(0)) leave(new Closed("the copy is over"));
    this.#wake();
  }
}
