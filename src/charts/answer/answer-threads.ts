/**
 * Threads for answers that are large: reading, joining, filling and writing a million rows takes seconds, in which the
 * control plane would answer nobody.
 */
import { AppError } from "../../lib/errors.ts";
import { received, Threads } from "../../lib/threads.ts";
import type { AnswerTask } from "./answer-work.ts";

export type ThreadAnswer = { readonly chunks: readonly Uint8Array[]; readonly rows: number };

export type LargeAnswer = { readonly chunks: readonly Buffer[]; readonly rows: number };

export class AnswerThreads {
  readonly #threads = new Threads<AnswerTask, ThreadAnswer>({ root: "answer-thread", most: 2, heapMb: 2_048, lost });

  /**
   * Resolves with the text of the answer; takes over the bytes of the task. Throws AppError, or the signal's reason.
   */
  async run(task: AnswerTask, signal: AbortSignal): Promise<LargeAnswer> {
    // Copied where a chunk shares its memory with others, as small ones do.
    const owned = task.plans
      .flatMap(({ bytes }) => bytes)
      .filter(({ buffer, length }) => buffer.byteLength === length)
      .map(({ buffer }) => buffer);
    const { chunks, rows } = await this.#threads.run(task, owned, signal);
    return { chunks: chunks.map(received), rows };
  }
}

function lost(error?: NodeJS.ErrnoException): AppError {
  const message =
    error?.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? "the answer needs more memory than allowed; set a limit of groups, or choose a coarser granularity"
      : "the answer could not be made";
  return new AppError("QUERY_FAILED", message, { cause: error });
}
