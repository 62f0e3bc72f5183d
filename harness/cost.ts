/** Costs that tests hold: processor time against a plain way of the same work in the same thread, and allocations. */
import { getHeapStatistics } from "node:v8";
import { cpuMs } from "./cpu-time.ts";

const rounds = 30;
/** Parts of a measurement. */
const parts = 9;
/** The plain way takes as long in each part. */
const leastMs = 60;

/**
 * Processor time of `work` against that of `plain`, in turns, which depends neither on the machine's speed nor on what
 * else it does. The first rounds, in which code is compiled, do not count. It is the median of several parts, because
 * collections of garbage and neighbours on the same processor fall into some of them.
 */
export async function cpuRatio(work: () => unknown, plain: () => unknown): Promise<number> {
  const ratios: number[] = [];
  await partRatio(work, plain);
  while (ratios.length < parts) ratios.push(await partRatio(work, plain));
  return medianOf(ratios);
}

/** The kernel counts in ticks of some milliseconds: a ratio of sums is exact, and that of one round is not. */
async function partRatio(work: () => unknown, plain: () => unknown): Promise<number> {
  let [ours, theirs] = [0, 0];
  for (let round = 0; theirs < leastMs; round += 1) {
    // Each of them is the first one as often as the other.
    const early = round % 2 === 0 ? await cpuMs(work) : 0;
    theirs += await cpuMs(plain);
    ours += early + (round % 2 === 0 ? 0 : await cpuMs(work));
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
