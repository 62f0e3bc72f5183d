/** Live numbers of an object storage pipe: what is on its way, and for one-shot pipes how much is still to come. */
import type { SourceContext } from "../source.ts";
import type { InFlight } from "./in-flight.ts";
import type { Lister } from "./lister.ts";

const reportEveryMs = 500;

type Amount = { readonly files: number; readonly bytes: number };

export class Progress {
  readonly #context: SourceContext;
  readonly #inFlight: InFlight;
  readonly #startedAt = Date.now();
  #lastReport = 0;
  /** Pages of the listing that loading has not come to, as the survey saw them. */
  readonly #pages: Amount[] = [];
  #pagesLoaded = 0;
  #surveyed = false;
  #handedOutBytes = 0;

  constructor(context: SourceContext, inFlight: InFlight) {
    this.#context = context;
    this.#inFlight = inFlight;
  }

  /** Counts everything there is to load, beside the loading, which lists the same pages later. */
  async survey(lister: Lister, after: string | undefined, signal: AbortSignal): Promise<void> {
    for await (const { found } of lister.pages(after, signal)) {
      this.#pages.push({ files: found.length, bytes: found.reduce((sum, { size }) => sum + size, 0) });
    }
    this.#surveyed = true;
    this.update(true);
  }

  /** A page of the listing has been handed out. */
  pageDone(bytes: number): void {
    this.#pagesLoaded += 1;
    this.#handedOutBytes += bytes;
    this.update();
  }

  /** To be called whenever objects are handed out or done. */
  update(atOnce = false): void {
    const now = Date.now();
    if (!atOnce && now - this.#lastReport < reportEveryMs && this.#inFlight.files > 0) return;
    this.#lastReport = now;
    const rest = this.#pages.slice(this.#pagesLoaded);
    const filesPending = this.#inFlight.files + rest.reduce((sum, { files }) => sum + files, 0);
    const bytesPending = this.#inFlight.bytes + rest.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#context.report({ filesPending, bytesPending, ...this.#eta(bytesPending, now) });
  }

  #eta(bytesPending: number, now: number): { etaSeconds?: number } {
    const doneBytes = this.#handedOutBytes - this.#inFlight.bytes;
    if (!this.#surveyed || doneBytes <= 0) return {};
    return { etaSeconds: Math.ceil((bytesPending * (now - this.#startedAt)) / doneBytes / 1000) };
  }
}
