/** Asks the servers of an installation all the time, as a load balancer does: one of them must answer. */
import { setTimeout as delay } from "node:timers/promises";
import type { Installation } from "./installation.ts";

type Watched = Pick<Installation, "servers" | "isDatabaseAway">;

const everyMs = 200;
const answerMs = 10_000;

export class ApiWatch implements AsyncDisposable {
  readonly #installation: Watched;
  readonly #stopped = new AbortController();
  readonly #watching: Promise<void>;
  readonly #tookMs: number[] = [];
  asked = 0;
  unanswered = 0;

  constructor(installation: Watched) {
    this.#installation = installation;
    this.#watching = this.#watch();
  }

  /** Of the answers, in ms. */
  quantile(share: number): number {
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const wasAway = this.#installation.isDatabaseAway;
      const began = performance.now();
      const answered = await this.#ask();
      // Without its database, an installation answers nothing.
      if (!wasAway && !this.#installation.isDatabaseAway) {
        this.asked += 1;
        if (answered) this.#tookMs.push(performance.now() - began);
        else this.unanswered += 1;
      }
      await delay(everyMs);
    }
  }

  async #ask(): Promise<boolean> {
    const asks = this.#installation.servers.map(async ({ credentials }) => {
      const { baseUrl, organizationId, keyId, keySecret } = credentials;
      const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
      const url = `${baseUrl}/v1/organizations/${organizationId}/services`;
      const response = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(answerMs) });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`status ${response.status}`);
    });
    return await Promise.any(asks).then(
      () => true,
      () => false,
    );
  }
}
