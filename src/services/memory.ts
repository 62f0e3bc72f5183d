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
    return `The engine has ${runningGb} GB until its next start, which comes when no query has run for 10 s; then it has ${wanted} GB.`;
  }
  const most = memoryBytes(service, machine);
  if (most >= wanted * bytesPerGb) return undefined;
  return `The machine has ${gb(machine)} GB of memory: the service can use ${gb(most)} of its ${wanted} GB.`;
}

function gb(bytes: number): string {
  return (bytes / bytesPerGb).toFixed(1).replace(/\.0$/, "");
}
