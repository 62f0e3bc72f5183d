/** What a service may use of the memory, and what a user has to know about it. */
import { totalmem } from "node:os";
import type { Service } from "../store/services.ts";

/** The rest is for the system and for Millrace. */
const machineShare = 0.9;
const bytesPerGb = 2 ** 30;

/** The engine's limit: what the service is given, and no more than the machine can give. */
export function memoryBytes({ maxReplicaMemoryGb }: Pick<Service, "maxReplicaMemoryGb">, machine = totalmem()): number {
  return Math.floor(Math.min(maxReplicaMemoryGb * bytesPerGb, machine * machineShare));
}

/** A sentence when the limit is not the one that was asked for; `runningGb` is that of the engine that runs. */
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
