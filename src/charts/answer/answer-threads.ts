/**
 * Threads for answers that are large: reading, joining, filling and writing a million rows takes seconds, in which the
 * control plane would answer nobody. A thread is started with the first such answer and ends a while after the last.
 */

import { Worker } from "node:worker_threads";
import { AppError, type ErrorCode, type Issue } from "../../lib/errors.ts";
import { processUrl } from "../../lib/program.ts";
import type { AnswerTask } from "./answer-work.ts";

export type ThreadAnswer =
  | { readonly chunks: readonly Uint8Array[]; readonly rows: number }
  | { readonly failure: { code: ErrorCode; message: string; issues: readonly Issue[] | undefined } };

export type LargeAnswer = { readonly chunks: readonly Buffer[]; readonly rows: number };

type Job = {
  readonly task: AnswerTask;
  readonly signal: AbortSignal;
  resolve(answer: LargeAnswer): void;
  reject(error: unknown): void;
};

const mostThreads = 2;
/** Memory of a thread's JavaScript heap. */
const heapMb = 2_048;
const restMs = 10_000;

export class AnswerThreads {
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Job>();
  readonly #waiting: Job[] = [];

  /**
   * Resolves with the text of the answer; takes over the bytes of the task. Throws AppError, or the signal's reason.
   */
  run(task: AnswerTask, signal: AbortSignal): Promise<LargeAnswer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => this.#abandon(job);
      const over = () => signal.removeEventListener("abort", onAbort);
      const job: Job = {
        task,
        signal,
        resolve: (answer) => {
          over();
          resolve(answer);
        },
        reject: (error) => {
          over();
          reject(error);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(job);
      this.#next();
    });
  }

  #next(): void {
    while (this.#waiting.length > 0 && (this.#idle.length > 0 || this.#busy.size < mostThreads)) {
      const worker = this.#idle.pop() ?? this.#start();
      const job = this.#waiting.shift() as Job;
      this.#busy.set(worker, job);
      // Copied where a chunk shares its memory with others, as small ones do.
      const owned = job.task.plans
        .flatMap(({ bytes }) => bytes)
        .filter(({ buffer, length }) => buffer.byteLength === length);
      worker.postMessage(job.task, [...new Set(owned.map(({ buffer }) => buffer as ArrayBuffer))]);
    }
  }

  #start(): Worker {
    const worker = new Worker(processUrl("answer-thread"), {
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    worker.unref();
    let rest: NodeJS.Timeout | undefined;
    worker.on("message", (answer: ThreadAnswer) => {
      const job = this.#busy.get(worker);
      this.#busy.delete(worker);
      this.#idle.push(worker);
      clearTimeout(rest);
      rest = setTimeout(() => !this.#busy.has(worker) && void worker.terminate(), restMs).unref();
      if ("failure" in answer) {
        const { code, message, issues } = answer.failure;
        job?.reject(new AppError(code, message, issues === undefined ? {} : { issues }));
      } else {
        const chunks = answer.chunks.map(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length));
        job?.resolve({ chunks, rows: answer.rows });
      }
      this.#next();
    });
    worker.on("error", (error: NodeJS.ErrnoException) => this.#lost(worker, failureOf(error)));
    worker.on("exit", () => this.#lost(worker, new AppError("QUERY_FAILED", "the answer was not finished")));
    return worker;
  }

  /** A caller went away, or time is up: the thread has no other way to stop. */
  #abandon(job: Job): void {
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
    for (const [worker, running] of this.#busy) if (running === job) void worker.terminate();
    job.reject(job.signal.reason);
  }

  #lost(worker: Worker, error: unknown): void {
    const job = this.#busy.get(worker);
    this.#busy.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    job?.reject(error);
    this.#next();
  }
}

function failureOf(error: NodeJS.ErrnoException): AppError {
  const message =
    error.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? "the answer needs more memory than allowed; set a limit of groups, or choose a coarser granularity"
      : "the answer could not be made";
  return new AppError("QUERY_FAILED", message, { cause: error });
}
