/**
 * Reads a shard with GetRecords. A shard allows five calls and 2 MB a second for all its readers together: after each
 * read the next call waits accordingly, and a shard without new records is called less and less often, down to once a
 * second.
 */
import { sleep } from "../../../lib/abort.ts";
import { Backoff, retry } from "../../../lib/backoff.ts";
import { AppError } from "../../../lib/errors.ts";
import { type FetchedRecords, type Page, type StartAt, type StreamApi, StreamError } from "../stream.ts";
import { compareSequences } from "./position.ts";

const bytesPerMs = 2_000;
const callGapMs = 200;
const idleGapMs = 1_000;
/** A response with as many has more behind it. */
export const maxRecords = 10_000;
/** Consecutive attempts at a call before the pipe handles its failure. */
const maxAttempts = 4;

/**
 * Yields responses of the shard from `start` on, until it has ended or the signal aborts. `start` is called whenever a
 * new iterator is needed, so it must return the position after everything yielded.
 */
export async function* poll(
  api: StreamApi,
  shard: string,
  start: () => StartAt,
  signal: AbortSignal,
): AsyncGenerator<FetchedRecords> {
  let iterator: string | undefined;
  let gapMs = callGapMs;
  while (!signal.aborted) {
    const asked = performance.now();
    const page = await withThrottleRetries(async () => {
      iterator ??= await api.iterator(shard, start(), signal);
      return await api.records(iterator, maxRecords, signal).catch((error: unknown) => {
        // A new iterator does no harm, whatever was wrong.
        iterator = undefined;
        throw error;
      });
    }, signal);
    if (page === undefined) return;
    yield page;
    if (page.ended) return;
    iterator = page.next;
    const bytes = page.records.reduce((sum, record) => sum + record.data.byteLength, 0);
    if (bytes > 0) gapMs = Math.max(callGapMs, bytes / bytesPerMs);
    else gapMs = page.behindMs > 0 ? callGapMs : Math.min(idleGapMs, gapMs * 1.5);
    await sleep(Math.max(0, gapMs - (performance.now() - asked)), signal);
  }
}

/** Exactly the records of a range, both ends included; fewer if the stream no longer has them. */
export async function* readRange(
  api: StreamApi,
  shard: string,
  first: string,
  last: string,
  signal: AbortSignal,
): AsyncGenerator<Page["records"]> {
  let iterator: string | undefined;
  // Empty responses at the end of the shard: the last record must have arrived by then, unless it was trimmed.
  let missing = 0;
  for (let from: StartAt = { from: "at", sequence: first }; !signal.aborted && missing < maxAttempts; ) {
    const page: Page | undefined = await withThrottleRetries(async () => {
      iterator ??= await api.iterator(shard, from, signal);
      return await api.records(iterator, maxRecords, signal).catch((error: unknown) => {
        iterator = undefined;
        throw error;
      });
    }, signal);
    if (page === undefined) return;
    const within = page.records.filter((record) => compareSequences(record.sequence, last) <= 0);
    if (within.length > 0) yield within;
    const reached = within.at(-1)?.sequence;
    if (reached === last || within.length < page.records.length || page.ended) return;
    if (reached !== undefined) from = { from: "after", sequence: reached };
    else await sleep(callGapMs, signal);
    missing = reached === undefined && page.behindMs === 0 ? missing + 1 : 0;
    iterator = page.next;
  }
}

/** Waits during throttling without a limit, and retries other failures a few times; undefined when aborted. */
export async function withThrottleRetries<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let failures = 0;
  const classify = (error: unknown): undefined => {
    const known = error instanceof StreamError || (error instanceof AppError && error.retryable);
    if (!known || (error instanceof StreamError && error.reason === "gone")) throw error;
    if (error instanceof AppError) failures += 1;
    if (failures >= maxAttempts) throw error;
  };
  return await retry(work, { signal, backoff: new Backoff({ baseMs: 400, capMs: 10_000 }), classify });
}
