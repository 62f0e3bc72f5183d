/** A queue between the readers of a copy and its inserts. It bounds the batches that are not durable yet. */
import { Limiter } from "../../../lib/limiter.ts";
import type { Batch as SourceBatch } from "../../contract/source.ts";
import type { PostgresDurable } from "../declaration/durable.ts";

type Batch = SourceBatch<PostgresDurable>;

/** The error of `push` after the queue was closed. */
class Closed extends Error {}

export class BatchQueue {
  /** Places for batches that are not durable. */
  readonly #places: Limiter;
  readonly #taken: (() => void)[] = [];
  readonly #closed = new AbortController();
  readonly #ready: Batch[] = [];
  #wake: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;

  constructor(places: number) {
    this.#places = new Limiter({ slots: places });
  }

  /** Resolves when there was a place for the batch; rejects when the queue is closed. */
  async push(batch: Batch): Promise<void> {
    this.#taken.push(await this.#places.enter(this.#closed.signal));
    this.#ready.push(batch);
    this.#wake();
  }

  /** The next batch; undefined at the end. Throws the error given to `fail`, after the batches before it. */
  async next(): Promise<Batch | undefined> {
    for (;;) {
      const batch = this.#ready.shift();
      if (batch !== undefined) return batch;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#closed.signal.aborted) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** A batch that was taken is durable: its place is free. */
  release(): void {
    this.#taken.shift()?.();
  }

  /**
   * The batches that are ready are the last ones, and then comes this error. Says nothing when the queue is closed.
   */
  fail(error: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.#failure = { error };
    this.close();
  }

  /** Nothing more is taken. What is ready can still be had. */
  close(): void {
    this.#closed.abort(new Closed("the copy is over"));
    this.#wake();
  }
}
