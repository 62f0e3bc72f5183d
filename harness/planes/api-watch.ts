/**
 * Asks the servers of an installation all the time, as a load balancer does. A request is owed an answer when one
 * server ran and reached its metadata from five seconds before it until its end.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Availability } from "./availability.ts";
import type { Installation } from "./installation.ts";

/** Requests are sent at this pace, answered or not. */
const everyMs = 400;
const answerMs = 10_000;

export class ApiWatch implements AsyncDisposable {
  readonly #installation: Pick<Installation, "servers">;
  readonly #availability: Availability;
  readonly #stopped = new AbortController();
  readonly #watching: Promise<void>;
  readonly #tookMs: number[] = [];
  #answeredAt = performance.now();
  #steady: ReadonlyMap<number, number>;
  /** Requests that were answered, or owed an answer. */
  asked = 0;
  /** What became of the requests that were owed an answer and got none. */
  readonly unanswered: string[] = [];
  /** Between two answers, while one server could answer all the time. */
  longestGapMs = 0;

  constructor(installation: Pick<Installation, "servers">, availability: Availability) {
    this.#installation = installation;
    this.#availability = availability;
    this.#steady = availability.survivors();
    this.#watching = this.#watch();
  }

  /** The time of the answers, in ms. */
  quantile(share: number): number {
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const asking = new Set<Promise<void>>();
    while (!this.#stopped.signal.aborted) {
      const one = this.#askOnce().finally(() => asking.delete(one));
      asking.add(one);
      await delay(everyMs);
    }
    await Promise.all(asking);
  }

  async #askOnce(): Promise<void> {
    const began = performance.now();
    const survivors = this.#availability.survivors();
    const failure = await this.#ask();
    const ended = performance.now();
    const after = this.#availability.survivors();
    this.#measureGap(ended, after);
    if (failure === undefined) {
      this.asked += 1;
      this.#answeredAt = ended;
      this.#tookMs.push(ended - began);
    } else if (remain(survivors, after)) {
      this.asked += 1;
      this.unanswered.push(`${new Date().toISOString()} after ${Math.round(ended - began)} ms: ${failure}`);
    }
  }

  #measureGap(now: number, survivors: ReadonlyMap<number, number>): void {
    // A gap begins anew when the last server without a fault has got one.
    if (!remain(this.#steady, survivors)) {
      this.#steady = survivors;
      this.#answeredAt = now;
    }
    this.longestGapMs = Math.max(this.longestGapMs, Math.round(now - this.#answeredAt));
  }

  /** Undefined when a server has answered. */
  async #ask(): Promise<string | undefined> {
    const asks = this.#installation.servers.map(async ({ credentials }) => {
      const { baseUrl, organizationId, keyId, keySecret } = credentials;
      const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
      const url = `${baseUrl}/v1/organizations/${organizationId}/services`;
      const response = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(answerMs) });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`status ${response.status}: ${text.slice(0, 200)}`);
    });
    return await Promise.any(asks).then(
      () => undefined,
      ({ errors }: AggregateError) => errors.map(String).join("; "),
    );
  }
}

/** One of the servers had no fault in between. */
function remain(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): boolean {
  return [...before].some(([server, since]) => after.get(server) === since);
}
