/**
 * Threads that move large bodies from a client's socket to the engine's within the kernel: bulk inserts take a fraction
 * of the processor time of reading and writing them. A thread starts with the first such body and ends a while after
 * the last.
 */
import { Worker } from "node:worker_threads";
import { processUrl } from "../../lib/program.ts";
import { closeDescriptor, duplicated, openBell, ringBell } from "./kernel-pipe.ts";
import type { SpliceOutcome, SpliceTask } from "./move-body.ts";

export type SpliceJob = {
  /** Rejects when the thread has ended early. */
  readonly outcome: Promise<SpliceOutcome>;
  /** Ends the job soon. */
  cancel(): void;
};

/** Each thread moves one body at a time. Further ones are copied, as all are without threads. */
const mostThreads = 2;
const restMs = 30_000;

export class Splicer {
  readonly #idle: SpliceThread[] = [];
  #threads = 0;

  /** True when a thread waits for a job. */
  get isReady(): boolean {
    return this.#idle.length > 0;
  }

  /** A thread, once it runs. Undefined when all are in use, and on other systems than Linux. */
  async reserve(): Promise<SpliceThread | undefined> {
    if (process.platform !== "linux") return undefined;
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      idle.take();
      return idle;
    }
    if (this.#threads >= mostThreads) return undefined;
    this.#threads += 1;
    const thread = new SpliceThread(
      () => this.#idle.push(thread),
      () => {
        this.#threads -= 1;
        const at = this.#idle.indexOf(thread);
        if (at !== -1) this.#idle.splice(at, 1);
      },
    );
    await thread.started;
    return thread.isRunning ? thread : undefined;
  }
}

export class SpliceThread {
  /** Resolves when the thread runs, or cannot. */
  readonly started: Promise<unknown>;
  readonly #worker = new Worker(processUrl("splice-thread"));
  readonly #onIdle: () => void;
  #settle: { resolve(outcome: SpliceOutcome): void; reject(error: Error): void } | undefined;
  #rest: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(onIdle: () => void, onExit: () => void) {
    this.#onIdle = onIdle;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.started = promise;
    this.#worker.unref();
    this.#worker.once("online", resolve);
    this.#worker.on("message", (outcome: SpliceOutcome) => {
      const settle = this.#settle;
      this.#settle = undefined;
      this.release();
      settle?.resolve(outcome);
    });
    const lost = (error: Error) => {
      this.#ended = true;
      resolve();
      this.#settle?.reject(error);
      this.#settle = undefined;
    };
    this.#worker.on("error", lost);
    this.#worker.once("exit", () => {
      onExit();
      lost(new Error("the thread that moves the body has ended"));
    });
  }

  get isRunning(): boolean {
    return !this.#ended;
  }

  /** Keeps the thread running until it is given back. */
  take(): void {
    clearTimeout(this.#rest);
  }

  /** Gives the thread back without a job. */
  release(): void {
    if (this.#ended) return;
    this.#rest = setTimeout(() => void this.#worker.terminate(), restMs).unref();
    this.#onIdle();
  }

  /**
   * Moves bytes between two sockets that nobody else reads or writes meanwhile: so many, or until it is cancelled.
   * Gives the thread back afterwards.
   */
  move(from: number, to: number, bytes: number): SpliceJob {
    const { promise, ...settle } = Promise.withResolvers<SpliceOutcome>();
    if (this.#ended) settle.reject(new Error("the thread that moves bodies has ended"));
    else this.#settle = settle;
    const cancelled = new SharedArrayBuffer(4);
    const bell = openBell();
    let isOver = false;
    const outcome = promise.finally(() => {
      isOver = true;
      closeDescriptor(bell);
    });
    // Descriptors of its own: Node may close the others at any time, and the system would use their numbers again.
    const task: SpliceTask = { from: duplicated(from), to: duplicated(to), bytes, cancelled, bell };
    this.#worker.postMessage(task);
    const cancel = () => {
      Atomics.store(new Int32Array(cancelled), 0, 1);
      if (!isOver) ringBell(bell);
    };
    return { outcome, cancel };
  }
}
