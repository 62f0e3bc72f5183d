/**
 * Reads a shard by enhanced fan-out: the pipe has its own consumer of the stream, to which the shard pushes 2 MB/s
 * whatever others read. A subscription lasts five minutes and is then renewed at its current position.
 */
import { sleep } from "../../../lib/abort.ts";
import { Backoff } from "../../../lib/backoff.ts";
import { AppError } from "../../../lib/errors.ts";
import { type FanOutApi, type FetchedRecords, type StartAt, type StreamApi, StreamError } from "../stream.ts";
import { withThrottleRetries } from "./polling.ts";

/** Minimum time between two subscriptions to a shard; the service allows five per second. */
const renewGapMs = 250;
const maxFailures = 5;

type Listening = { readonly api: StreamApi; readonly fanOut: FanOutApi; readonly consumer: string };

/**
 * Yields what the shard pushes, from `start` on, until it has ended or the signal aborts. `isClosed` says whether the
 * stream lists the shard as closed: some servers never end a subscription to a drained shard, so a plain call then
 * checks whether anything is left.
 */
export async function* listen(
  { api, fanOut, consumer }: Listening,
  shard: string,
  start: () => StartAt,
  isClosed: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<FetchedRecords> {
  const pause = new Backoff({ baseMs: 500, capMs: 10_000 });
  let reached: string | undefined;
  const from = (): StartAt => (reached === undefined ? start() : { from: "after", sequence: reached });
  for (let failures = 0; !signal.aborted; ) {
    const asked = performance.now();
    try {
      for await (const event of fanOut.subscribe(consumer, shard, from(), signal)) {
        pause.reset();
        failures = 0;
        // The continuation advances, not the last record, where a shard is without records for a long time.
        reached = event.continuation ?? event.records.at(-1)?.sequence ?? reached;
        const silent = event.records.length === 0 && isClosed();
        const ended = event.ended || (silent && (await isDrained(api, shard, from(), signal)));
        yield { records: event.records, behindMs: event.behindMs, ended };
        if (ended) return;
      }
      await sleep(Math.max(0, renewGapMs - (performance.now() - asked)), signal);
    } catch (error) {
      if (signal.aborted) return;
      const passing = error instanceof StreamError && error.reason !== "gone";
      const known = passing || (error instanceof AppError && error.retryable);
      if (!passing) failures += 1;
      if (!known || failures >= maxFailures) throw error;
      await sleep(pause.next(), signal);
    }
  }
}

/** True when a closed shard has no records after the position. */
async function isDrained(api: StreamApi, shard: string, from: StartAt, signal: AbortSignal): Promise<boolean> {
  const page = await withThrottleRetries(
    async () => await api.records(await api.iterator(shard, from, signal), 1, signal),
    signal,
  );
  return page?.ended === true && page.records.length === 0;
}
