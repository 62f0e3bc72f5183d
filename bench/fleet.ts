/** A data directory with many services and pipes, written without the API, and what the processes over it take. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../harness/limits.ts";
import type { PipeBody } from "../harness/pipes.ts";
import type { BenchService, Served } from "../harness/serve.ts";
import type { JsonObject } from "../src/lib/json.ts";
import { splitSecrets } from "../src/pipes/control/definition/definition.ts";
import { kindOf } from "../src/sources/contract/registry.ts";
import { openStoresOf, type Stores } from "../src/store/open.ts";

/** Creates the pipes, pipe N in service N modulo their number, and stopped services. The server must not run. */
export async function seed(
  dataDir: string,
  services: readonly BenchService[],
  bodies: readonly PipeBody[],
  stopped: number,
): Promise<void> {
  const stores = await openStoresOf({ dataDir, secretKey: undefined });
  try {
    for (const [index, body] of bodies.entries()) {
      const { id } = services[index % services.length] as BenchService;
      await addPipe(stores, id, body, bodies.length);
    }
    const [first] = services as [BenchService];
    for (let index = 0; index < stopped; index += 1) {
      await addStopped(stores, first.params.organizationId, index);
    }
  } finally {
    stores.close();
  }
}

async function addPipe({ pipes }: Stores, serviceId: string, body: PipeBody, most: number): Promise<void> {
  const [[sourceKind, config]] = Object.entries(body.source) as [[string, JsonObject]];
  const { plain, secrets } = splitSecrets(kindOf(sourceKind), config);
  const pipe = {
    ...{ serviceId, name: body.name, sourceKind, source: { [sourceKind]: plain }, secrets, roles: undefined },
    ...{ destination: body.destination, fieldMappings: body.fieldMappings ?? [], scaling: {} },
    settings: body.settings ?? {},
  };
  await pipes.create(pipe as Parameters<typeof pipes.create>[0], { ...limits.pipes, most });
}

async function addStopped({ services }: Stores, organizationId: string, index: number): Promise<void> {
  const id = await services.create(
    {
      ...{ organizationId, name: `stopped ${index}`, provider: "local", region: "local", port: 31_000 + index },
      ...{ minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1, numReplicas: 1, idleScaling: true, idleTimeoutMinutes: 5 },
      ...{ ipAccessList: [], tags: [], releaseChannel: undefined, passwordSha256: "" },
    },
    limits,
  );
  await services.setDesired(id, "stopped");
  await services.setState(id, "stopped", null);
}

/** The processes of an installation. */
export type Fleet = {
  readonly control: number;
  readonly workers: readonly number[];
  readonly engines: readonly number[];
};

export function fleetOf(served: Served, services: readonly BenchService[]): Fleet {
  const { dataDir } = served;
  const pidOf = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
  const workers = readdirSync(join(dataDir, "pipes")).map((file) => pidOf(join(dataDir, "pipes", file)));
  return {
    control: served.process.pid as number,
    workers: [...new Set(workers)],
    engines: services.map(({ id }) => pidOf(join(dataDir, "services", id, "engine.pid"))),
  };
}

export type Memory = { readonly rss: number; readonly pss: number; readonly own: number };

/**
 * Memory of the processes in MB: resident, with what several share counted for each (`rss`), divided among them
 * (`pss`), and left out (`own`).
 */
export function memoryOf(pids: readonly number[]): Memory {
  let [rss, pss, own] = [0, 0, 0];
  for (const pid of pids) {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0);
    rss += kb("Rss") / 1024;
    pss += kb("Pss") / 1024;
    own += (kb("Private_Clean") + kb("Private_Dirty")) / 1024;
  }
  return { rss, pss, own };
}

/** User and system time of the processes in ms; the kernel counts them in ticks of 10 ms. */
export function cpuMsOf(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * 10;
}
