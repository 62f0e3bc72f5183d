/** Costs that tests hold: processor time against a plain way of the same work in the same thread, and allocations. */
import { getHeapStatistics } from "node:v8";
import { cpuMs } from "./cpu-time.ts";

const rounds = 30;
/** Of the plain way, in all rounds together. */
const leastMs = 250;

/**
 * Processor time of `work` against that of `plain`, in turns, which depends neither on the machine's speed nor on what
 * else it does. The first rounds, in which code is compiled, do not count. The kernel counts in ticks of some
 * milliseconds: a ratio of sums is exact, and that of one round is not.
 */
export async function cpuRatio(work: () => unknown, plain: () => unknown): Promise<number> {
  let [ours, theirs] = [0, 0];
  for (let round = -5; round < rounds || theirs < leastMs; round += 1) {
    // Each of them is the first one as often as the other.
    const early = round % 2 === 0 ? await cpuMs(work) : 0;
    const other = await cpuMs(plain);
    const late = round % 2 === 0 ? 0 : await cpuMs(work);
    if (round < 0) continue;
    ours += early + late;
    theirs += other;
  }
  return ours / theirs;
}

/** Bytes of the heap that `work` allocates: the median of many runs, in few of which garbage is collected. */
export function allocatedBytes(work: () => unknown): number {
  const samples: number[] = [];
  for (let round = -20; round < rounds; round += 1) {
    const before = getHeapStatistics().used_heap_size;
    work();
    if (round >= 0) samples.push(getHeapStatistics().used_heap_size - before);
  }
  return medianOf(samples);
}

function medianOf(samples: readonly number[]): number {
  return [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
}
