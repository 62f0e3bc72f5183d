/** Batches between those who read and the one who takes them: so many are not durable yet, and no more. */
import { Limiter } from "../../../lib/limiter.ts";
import type { Batch as SourceBatch } from "../../source.ts";
import type { PostgresDurable } from "../durable.ts";

type Batch = SourceBatch<PostgresDurable>;

/** What a reader is told whose batch nobody wants any more. */
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

  /** The next batch; undefined when there is none to come. Throws what `fail` was told, after the batches before it. */
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
