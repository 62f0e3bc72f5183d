/** Costs in tests: processor time of the calling thread, which other programs on the machine do not change much. */

/** Processor time of the calling thread so far, in milliseconds. */
export function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds of processor time that the work takes in this thread. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = cpuNow();
  await work();
  return cpuNow() - before;
}
