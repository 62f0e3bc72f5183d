/** Processor time of another process, on Linux. */
import { readFileSync } from "node:fs";

/** User and system time in seconds; the kernel counts them in ticks of 10 ms. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
