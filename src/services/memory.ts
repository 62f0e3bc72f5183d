/** The memory limit of a service, and the note for a user when it differs from the requested one. */
import { totalmem } from "node:os";
import type { Service } from "../store/services/services.ts";

/** The rest is for the system and for Millrace. */
const machineShare = 0.9;
const bytesPerGb = 2 ** 30;

/** The engine's limit: the service's memory, but at most what the machine can provide. */
export function memoryBytes({ maxReplicaMemoryGb }: Pick<Service, "maxReplicaMemoryGb">, machine = totalmem()): number {
  return Math.floor(Math.min(maxReplicaMemoryGb * bytesPerGb, machine * machineShare));
}

/** A sentence when the limit differs from the requested one; `runningGb` is the running engine's. */
export function memoryNote(
  service: Pick<Service, "maxReplicaMemoryGb">,
  runningGb: number | undefined,
  machine = totalmem(),
): string | undefined {
  const wanted = service.maxReplicaMemoryGb;
  if (runningGb !== undefined && runningGb !== wanted) {
    return `The engine keeps its memory limit of ${runningGb} GiB until its next start, which comes when no query has run for 10 s; then it has ${wanted} GiB.`;
  }
  const most = memoryBytes(service, machine);
  if (most >= wanted * bytesPerGb) return undefined;
  return `The machine has ${gib(machine)} GiB of memory: the service can use ${gib(most)} of its ${wanted} GiB.`;
}

function gib(bytes: number): string {
  return (bytes / bytesPerGb).toFixed(1).replace(/\.0$/, "");
}
