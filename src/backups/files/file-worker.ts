/** The threads that work on whole files. One starts with its first task and ends after some time without one. */

import { Worker } from "node:worker_threads";
import { processUrl } from "../../lib/program.ts";
import type { FileFacts, FileTask } from "./file-work.ts";

export type FileAnswer = { id: number; facts?: FileFacts; error?: { message: string; code?: string } };
type Waiting = { resolve: (facts: FileFacts) => void; reject: (error: Error) => void };

const restMs = 10_000;

/** Each of them works on one file at a time. */
const threads = 2;

/** What several files take is divided among the threads. */
export class FileWorker {
  readonly #threads = Array.from({ length: threads }, () => new FileThread());

  /** Size and SHA-256. */
  hash(path: string): Promise<FileFacts> {
    return this.#run({ op: "hash", path });
  }

  /** Encrypts into `target`, which is durable afterwards; returns the facts of the target. */
  seal(path: string, target: string, key: Uint8Array, name: string): Promise<FileFacts> {
    return this.#run({ op: "seal", path, target, key, name });
  }

  /** Decrypts into `target`. Rejects when the file was modified, truncated, or encrypted with another key or name. */
  unseal(path: string, target: string, key: Uint8Array, name: string): Promise<FileFacts> {
    return this.#run({ op: "unseal", path, target, key, name });
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #run(task: FileTask): Promise<FileFacts> {
    const [first, ...others] = this.#threads as [FileThread, ...FileThread[]];
    return others.reduce((least, thread) => (thread.waiting < least.waiting ? thread : least), first).run(task);
  }
}

class FileThread {
  #worker: Worker | undefined;
  #rest: NodeJS.Timeout | undefined;
  #next = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** Tasks that it has not ended. */
  get waiting(): number {
    return this.#waiting.size;
  }

  async close(): Promise<void> {
    clearTimeout(this.#rest);
    await this.#worker?.terminate();
  }

  run(task: FileTask): Promise<FileFacts> {
    clearTimeout(this.#rest);
    this.#worker ??= this.#start();
    const id = this.#next++;
    return new Promise<FileFacts>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker?.postMessage({ id, task });
    });
  }

  #start(): Worker {
    const worker = new Worker(processUrl("file-worker"));
    worker.unref();
    worker.on("message", ({ id, facts, error }: FileAnswer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (facts !== undefined) waiting?.resolve(facts);
      else waiting?.reject(Object.assign(new Error(error?.message), { code: error?.code }));
      if (this.#waiting.size === 0) this.#rest = setTimeout(() => void worker.terminate(), restMs).unref();
    });
    worker.on("error", (error) => this.#failAll(error));
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#failAll(new Error("the file worker ended"));
    });
    return worker;
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
