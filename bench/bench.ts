/** The exports of a benchmark file `NAME.bench.ts`, and what all of them measure with. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { treeCpuSecondsOf } from "../harness/process-cpu.ts";

/** What was measured, by name: the last line of a run. Goals (`goals.ts`) name some of its members. */
export type Summary = Readonly<Record<string, number | string | boolean>>;

export type BenchResult = {
  /** The human table: one object per row. */
  readonly rows: readonly Record<string, string | number>[];
  readonly summary: Summary;
};

export type BenchModule = {
  readonly description: string;
  run(): Promise<BenchResult>;
};

/** Elapsed time, and processor time, which depends less on what else the machine does. */
export type Cost = { readonly seconds: number; readonly cpuSeconds: number };

/**
 * What work takes: elapsed time, and processor time of a process with its descendants. `without` is one of them that
 * does not count.
 */
export async function costOf(
  work: () => unknown,
  { pid = process.pid, without }: { readonly pid?: number | undefined; readonly without?: number | undefined } = {},
): Promise<Cost> {
  const [started, cpu] = [performance.now(), treeCpuSecondsOf(pid, without)];
  await work();
  const seconds = (performance.now() - started) / 1000;
  return { seconds, cpuSeconds: treeCpuSecondsOf(pid, without) - cpu };
}

/** Both times of the rounds that were disturbed least: what others do on the machine can only add to them. */
export function leastCost(samples: readonly Cost[]): Cost {
  return {
    seconds: Math.min(...samples.map(({ seconds }) => seconds)),
    cpuSeconds: Math.min(...samples.map(({ cpuSeconds }) => cpuSeconds)),
  };
}

/** The same of many short rounds: the tenth that was disturbed least, because the shortest one of all is chance. */
export function undisturbed(samples: readonly number[]): number {
  return percentile(samples, 10);
}

/** A row of the human table: both times for `units` of work, the processor time for a million of them. */
export function costRow(what: string, samples: readonly Cost[], units: number, unit = "rows") {
  const { seconds, cpuSeconds } = leastCost(samples);
  return {
    what,
    seconds: round(seconds),
    [`${unit} per second`]: Math.round(units / seconds),
    [`CPU us per ${unit.replace(/s$/, "")}`]: round((cpuSeconds / units) * 1e6, 3),
  };
}

/** Processor time for a unit of work, in microseconds. */
export function cpuUsOf(samples: readonly Cost[], units: number): number {
  return round((leastCost(samples).cpuSeconds / units) * 1e6, 3);
}

/**
 * Milliseconds of the work for each side, in turns and in both orders. A tenth as many rounds before them is warm-up,
 * and what is done `after` each does not count.
 */
export async function inTurns<Side extends string>(
  sides: readonly Side[],
  rounds: number,
  work: (side: Side, round: number) => Promise<unknown>,
  after?: (side: Side) => Promise<unknown>,
): Promise<Record<Side, number[]>> {
  const times = Object.fromEntries(sides.map((side) => [side, [] as number[]])) as Record<Side, number[]>;
  const warmUp = Math.ceil(rounds / 10);
  for (let i = -warmUp; i < rounds; i += 1) {
    for (const side of i % 2 === 0 ? sides : sides.toReversed()) {
      const start = performance.now();
      await work(side, i + warmUp);
      if (i >= 0) times[side].push(performance.now() - start);
      await after?.(side);
    }
  }
  return times;
}

/** The p-th percentile (0 to 100, nearest rank) of the samples. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50);
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** Starts the front of `bare-front.ts` before an engine's port; `revision`: of the native protocol. */
export async function bareFront(
  engine: { readonly host: string; readonly port: number },
  revision?: number,
): Promise<{ readonly port: number } & AsyncDisposable> {
  const child = fork(fileURLToPath(new URL("./bare-front.ts", import.meta.url)));
  child.send({ engine, revision });
  const [own] = (await once(child, "message")) as [number];
  return { port: own, [Symbol.asyncDispose]: async () => child.disconnect() };
}
