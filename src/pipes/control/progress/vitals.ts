/**
 * Rates and lag of every pipe: stored counters and the gauges of running workers, sampled every two seconds. Lists and
 * histories read the samples, so that their cost does not depend on how busy pipes are. In memory only; wakes nothing.
 */
import { noNumbers, type PipeNumbers } from "../../../store/pipes/pipe-overviews.ts";
import { lagOf, type PipeLag, type Trend, trendOf } from "./lag.ts";

export type PipeVitals = PipeNumbers & {
  /** Running worker processes. */
  readonly workers: number;
  /** Absent without workers, and until two samples are known. */
  readonly rates?: { readonly rowsPerSecond: number; readonly bytesPerSecond: number };
  /** Absent when nothing is known. */
  readonly lag?: PipeLag & { readonly trend?: Trend; readonly etaSeconds?: number };
  readonly gauges: Readonly<Record<string, number>>;
};

export type VitalsOptions = {
  /** Counters and outcomes of all pipes. */
  readonly numbers: () => Promise<ReadonlyMap<string, PipeNumbers>>;
  /** While it is unchanged, `numbers` returns the same. */
  readonly numbersRevision: () => number | string;
  /** Pipes with workers or with gauges of their slot. */
  readonly measured: () => ReadonlyMap<string, { workers: number; gauges: Readonly<Record<string, number>> }>;
  /** The clock, in ms: replaced in tests. */
  readonly now?: () => number;
};

type Sample = { readonly at: number; readonly rows: number; readonly bytes: number; readonly lag: PipeLag };

/** Rates are means over this time, trends compare over the longer one. */
const rateMs = 10_000;
const trendMs = 30_000;

const nothingYet = { sentRows: 0, sentBytes: 0, errors: 0, refusedRows: 0 };
const unknown: PipeVitals = { ...noNumbers, workers: 0, gauges: {} };

export class Vitals {
  readonly #options: VitalsOptions;
  readonly #samples = new Map<string, Sample[]>();
  #vitals: ReadonlyMap<string, PipeVitals> = new Map();
  #numbers: ReadonlyMap<string, PipeNumbers> = new Map();
  #numbersAt: number | string | undefined;
  #revision = 0;
  #shown = "";

  constructor(options: VitalsOptions) {
    this.#options = options;
  }

  /** Raised by every sample that differs from the one before. */
  revision(): number {
    return this.#revision;
  }

  /** As last sampled; before the first sample nothing is known. The store has no counter of what never happened. */
  of(pipeId: string): PipeVitals {
    const vitals = this.#vitals.get(pipeId) ?? unknown;
    if (this.#numbersAt === undefined) return vitals;
    return { ...vitals, counters: { ...nothingYet, ...vitals.counters } };
  }

  /** Samples all pipes. */
  async pass(): Promise<void> {
    const revision = this.#options.numbersRevision();
    if (revision !== this.#numbersAt) {
      this.#numbers = await this.#options.numbers();
      this.#numbersAt = revision;
    }
    const now = (this.#options.now ?? Date.now)();
    const measured = this.#options.measured();
    for (const id of this.#samples.keys()) if (!measured.has(id)) this.#samples.delete(id);
    const vitals = new Map<string, PipeVitals>();
    for (const [id, numbers] of this.#numbers) vitals.set(id, { ...unknown, ...numbers });
    for (const [id, { workers, gauges }] of measured) {
      const numbers = this.#numbers.get(id) ?? noNumbers;
      vitals.set(id, { ...numbers, workers, gauges, ...this.#movement(id, { now, numbers, workers, gauges }) });
    }
    this.#vitals = vitals;
    const shown = JSON.stringify([revision, [...measured.keys()].map((id) => shownOf(vitals.get(id)))]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#revision += 1;
  }

  #movement(
    id: string,
    { now, numbers, workers, gauges }: Measurement,
  ): { rates?: PipeVitals["rates"] & {}; lag?: PipeVitals["lag"] & {} } {
    const { sentRows: rows = 0, sentBytes: bytes = 0 } = numbers.counters;
    const sample: Sample = { at: now, rows, bytes, lag: lagOf(gauges) };
    const samples = this.#samples.get(id) ?? [];
    // The oldest of the kept samples is the youngest that covers the whole time.
    while (samples.length > 1 && (samples[1] as Sample).at <= now - trendMs) samples.shift();
    const earlier = samples.findLast(({ at }) => at <= now - rateMs) ?? samples[0];
    // A worker that has just started knows nothing yet.
    const oldest = samples.find(({ lag }) => Object.keys(lag).length > 0);
    samples.push(sample);
    this.#samples.set(id, samples);
    const rates = workers === 0 || earlier === undefined ? undefined : ratesOf(earlier, sample);
    const isKnown = Object.keys(sample.lag).length > 0;
    const seconds = oldest === undefined ? 0 : (now - oldest.at) / 1000;
    const trend = oldest === undefined || seconds * 1000 < rateMs ? {} : trendOf(oldest.lag, sample.lag, seconds);
    const eta = gauges.snapshotSecondsLeft === undefined ? {} : { etaSeconds: Math.round(gauges.snapshotSecondsLeft) };
    return {
      ...(rates === undefined ? {} : { rates }),
      ...(isKnown ? { lag: { ...sample.lag, ...trend, ...eta } } : {}),
    };
  }
}

type Measurement = {
  readonly now: number;
  readonly numbers: PipeNumbers;
  readonly workers: number;
  readonly gauges: Readonly<Record<string, number>>;
};

function ratesOf(before: Sample, now: Sample): PipeVitals["rates"] {
  const seconds = (now.at - before.at) / 1000;
  if (seconds <= 0) return undefined;
  return {
    rowsPerSecond: threeDigits(Math.max(0, now.rows - before.rows) / seconds),
    bytesPerSecond: threeDigits(Math.max(0, now.bytes - before.bytes) / seconds),
  };
}

/** Noise beyond three digits would make every sample a new one. */
function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

/** What lists show; gauges beyond it do not raise the revision. */
function shownOf(vitals: PipeVitals | undefined): unknown {
  return vitals && [vitals.workers, vitals.rates, vitals.lag, vitals.gauges.latencyMs];
}
