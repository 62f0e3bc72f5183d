/** Records samples of pipes in their histories, one in five seconds. A pipe of which nothing is known leaves a gap. */
import { type HistoryStore, type HistoryValues, sampleSeconds } from "../../../store/saved/history.ts";
import type { PipeSeries } from "../../../store/saved/history-series.ts";
import type { PipeVitals } from "../progress/vitals.ts";

export type RecorderOptions = {
  readonly history: HistoryStore<PipeSeries>;
  readonly ids: () => Promise<readonly string[]>;
  readonly vitals: (pipeId: string) => PipeVitals;
  /** The clock, in ms: replaced in tests. */
  readonly now?: () => number;
};

/** Pipes between two pauses for other work of this process. */
const pipesAtOnce = 50;
const slotsPerMinute = 60 / sampleSeconds;

export class PipeRecorder {
  readonly #options: RecorderOptions;
  /** Counters at the sample before, of pipes with workers. */
  readonly #before = new Map<string, Counted>();
  #recordedAt = 0;
  #forgotAt = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Records once in `sampleSeconds`; once a minute removes the histories of pipes that are gone. */
  async pass(): Promise<void> {
    const now = (this.#options.now ?? Date.now)();
    const slot = Math.floor(now / 1000 / sampleSeconds);
    if (slot === this.#recordedAt) return;
    this.#recordedAt = slot;
    const ids = await this.#options.ids();
    for (const [i, id] of ids.entries()) {
      const vitals = this.#options.vitals(id);
      const values = this.#valuesOf(id, vitals, now);
      if (Object.values(values).some((value) => value !== undefined)) {
        this.#options.history.add(id, now, { ...values, workers: vitals.workers });
      }
      if (i % pipesAtOnce === pipesAtOnce - 1) await new Promise((resolve) => setImmediate(resolve));
    }
    const minute = Math.floor(slot / slotsPerMinute);
    if (minute === this.#forgotAt) return;
    this.#forgotAt = minute;
    this.#forget(new Set(ids));
  }

  #forget(known: ReadonlySet<string>): void {
    this.#options.history.keepOnly(known);
    for (const id of this.#before.keys()) if (!known.has(id)) this.#before.delete(id);
  }

  #valuesOf(id: string, { lag, gauges, counters, workers }: PipeVitals, now: number): HistoryValues<PipeSeries> {
    const before = this.#before.get(id);
    if (workers === 0) this.#before.delete(id);
    else this.#before.set(id, { at: now, counters });
    const rate = (name: string): number | undefined => {
      if (workers === 0 || before === undefined || now <= before.at) return undefined;
      const growth = (counters[name] ?? 0) - (before.counters[name] ?? 0);
      return Math.max(0, growth) / ((now - before.at) / 1000);
    };
    return {
      rowsPerSecond: rate("sentRows"),
      bytesPerSecond: rate("sentBytes"),
      errorsPerSecond: rate("errors"),
      lagRows: lag?.rows,
      lagBytes: lag?.bytes,
      lagFiles: lag?.files,
      lagSeconds: lag?.seconds,
      latencySeconds: gauges.latencyMs === undefined ? undefined : gauges.latencyMs / 1000,
    };
  }
}

type Counted = { readonly at: number; readonly counters: Readonly<Record<string, number>> };
