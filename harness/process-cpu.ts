/** Processor time of another process, on Linux. */
import { readdirSync, readFileSync } from "node:fs";

/** User and system time in seconds; the kernel counts them in ticks of 10 ms. */
export function cpuSecondsOf(pid: number): number {
  const fields = statOf(pid);
  if (fields === undefined) throw new Error(`there is no process ${pid}`);
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/**
 * The same of the process with its descendants, and of those that have ended and were waited for. `without` is a
 * descendant that does not count, with its own.
 */
export function treeCpuSecondsOf(pid: number, without?: number): number {
  const stats = new Map<number, { readonly parent: number; readonly ticks: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(Number(name));
    // It has ended since the folder was read.
    if (fields === undefined) continue;
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    stats.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  const children = Map.groupBy(stats.keys(), (child) => stats.get(child)?.parent);
  const ticksOf = (one: number): number =>
    one === without
      ? 0
      : (children.get(one) ?? []).reduce((sum, child) => sum + ticksOf(child), stats.get(one)?.ticks ?? 0);
  return ticksOf(pid) / 100;
}

/** Fields after the name. */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return undefined;
  }
}

/** The time of children of this process that have ended. */
export function endedChildrenCpuSeconds(): number {
  const fields = statOf(process.pid) ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}
