/**
 * Threads for work during which the event loop would answer nobody. A thread starts with the first task and ends a
 * while after the last; a task that finds all of them busy waits.
 */
import { parentPort, Worker } from "node:worker_threads";
import { AppError, type ErrorCode, type Issue } from "./errors.ts";
import { processUrl } from "./program.ts";

export type ThreadOptions = {
  /** Name of its root module in `processes`. */
  readonly root: string;
  readonly most: number;
  /** Memory of a thread's JavaScript heap. One string that is much too large for it would end the whole process. */
  readonly heapMb: number;
  /** What a caller is told whose thread ended before the answer, by an error of the thread or without one. */
  readonly lost: (error?: NodeJS.ErrnoException) => AppError;
};

type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly failure: { code: ErrorCode; message: string; issues: readonly Issue[] | undefined } };

type Job<Task, Answer> = {
  readonly task: Task;
  readonly transfer: readonly ArrayBufferLike[];
  readonly signal: AbortSignal;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
};

const restMs = 10_000;

export class Threads<Task, Answer> {
  readonly #options: ThreadOptions;
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Job<Task, Answer>>();
  readonly #waiting: Job<Task, Answer>[] = [];

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** Takes over the memory of `transfer`. Throws AppError, or the signal's reason. */
  run(task: Task, transfer: readonly ArrayBufferLike[], signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => this.#abandon(job);
      const over = () => signal.removeEventListener("abort", onAbort);
      const job: Job<Task, Answer> = {
        ...{ task, transfer, signal },
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
    while (this.#waiting.length > 0 && (this.#idle.length > 0 || this.#busy.size < this.#options.most)) {
      const worker = this.#idle.pop() ?? this.#start();
      const job = this.#waiting.shift() as Job<Task, Answer>;
      try {
        worker.postMessage(job.task, [...new Set(job.transfer)] as ArrayBuffer[]);
        this.#busy.set(worker, job);
      } catch (error) {
        this.#idle.push(worker);
        job.reject(error);
      }
    }
  }

  #start(): Worker {
    const { root, heapMb, lost } = this.#options;
    const worker = new Worker(processUrl(root), { resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    worker.unref();
    let rest: NodeJS.Timeout | undefined;
    worker.on("message", (answered: Answered<Answer>) => {
      const job = this.#busy.get(worker);
      this.#busy.delete(worker);
      this.#idle.push(worker);
      clearTimeout(rest);
      rest = setTimeout(() => this.#dismiss(worker), restMs).unref();
      if ("failure" in answered) {
        const { code, message, issues } = answered.failure;
        job?.reject(new AppError(code, message, issues === undefined ? {} : { issues }));
      } else job?.resolve(answered.answer);
      this.#next();
    });
    worker.on("error", (error: NodeJS.ErrnoException) => this.#lost(worker, lost(error)));
    worker.on("exit", () => this.#lost(worker, lost()));
    return worker;
  }

  /** No task may reach a thread that ends. */
  #dismiss(worker: Worker): void {
    const at = this.#idle.indexOf(worker);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    void worker.terminate();
  }

  /** A caller went away, or time is up: the thread has no other way to stop. */
  #abandon(job: Job<Task, Answer>): void {
    const at = this.#waiting.indexOf(job);
    if (at >= 0) this.#waiting.splice(at, 1);
    for (const [worker, running] of this.#busy) if (running === job) void worker.terminate();
    job.reject(job.signal.reason);
  }

  #lost(worker: Worker, error: AppError): void {
    const job = this.#busy.get(worker);
    this.#busy.delete(worker);
    this.#dismiss(worker);
    job?.reject(error);
    this.#next();
  }
}

/** The memory of bytes that are large, and nobody else's; small ones share that of others, and are copied. */
export function ownMemory({ buffer }: Uint8Array): ArrayBufferLike[] {
  return buffer.byteLength > Buffer.poolSize ? [buffer] : [];
}

/** Bytes that have come from another thread, where a Buffer arrives as its plain form. */
export function received({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** The root of a thread: answers each task with what `work` returns, and hands over the memory that it names. */
export function answerTasks<Task, Answer>(work: (task: Task) => [answer: Answer, transfer: ArrayBufferLike[]]): void {
  const send = (answered: Answered<Answer>, transfer: ArrayBufferLike[] = []) =>
    parentPort?.postMessage(answered, transfer as ArrayBuffer[]);
  parentPort?.on("message", (task: Task) => {
    try {
      const [answer, transfer] = work(task);
      send({ answer }, transfer);
    } catch (error) {
      const { code, message, issues } = error instanceof AppError ? error : new AppError("INTERNAL", String(error));
      send({ failure: { code, message, issues } });
    }
  });
}
