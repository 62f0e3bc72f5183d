/** Retrying what the store does not answer: the pipe is Degraded meanwhile, and fails after a while. */
import { sleep } from "../../lib/abort.ts";
import { Backoff } from "../../lib/backoff.ts";
import { AppError } from "../../lib/errors.ts";
import type { SourceContext } from "../source.ts";

/** Trouble with the store is retried for this long before the pipe fails. */
export const giveUpAfterMs = 15 * 60_000;

/**
 * Runs the work until it succeeds. AppErrors are trouble with the source and retried; anything else is thrown. After
 * `giveUpAfterMs` without success, and as soon as the signal aborts, the last error is thrown.
 */
export async function patiently<T>(
  context: Pick<SourceContext, "trouble">,
  work: () => Promise<T>,
  signal: AbortSignal,
  giveUpMs = giveUpAfterMs,
): Promise<T> {
  const backoff = new Backoff({ baseMs: 200, capMs: 15_000 });
  const deadline = Date.now() + giveUpMs;
  for (;;) {
    try {
      const result = await work();
      if (backoff.attempts > 0) context.trouble(undefined);
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      if (Date.now() > deadline) throw error;
      context.trouble(error.message);
      await sleep(backoff.next(), signal);
    }
  }
}
