/**
 * The composition root of `millrace worker`: runs pipes of services that every process reaches, writes their positions
 * itself, and needs no server. It has no API and no endpoints.
 */

import { resolve } from "node:path";
import { ReadyLauncher } from "../confinement/ready-launcher.ts";
import { AppError } from "../lib/errors.ts";
import { ShutdownStack } from "../lib/shutdown-stack.ts";
import { Outgoing } from "../network.ts";
import { openPipes } from "../pipes/control/open.ts";
import { openServices } from "../services/open.ts";
import type { LeasedStores } from "../store/open.ts";
import { checkedConfinement, leaseLoop, type NodeOptions, openMetadata, stopWhenAborted } from "./node.ts";
import { requireConfinedUsers } from "./unconfined.ts";

export type WorkerNode = {
  readonly nodeId: string;
  /** Resolves when the signal has aborted and everything is closed. */
  readonly stopped: Promise<void>;
};

/** Opens everything. Whatever was opened is closed again when this throws or when the signal aborts. */
export async function startWorkerNode(options: NodeOptions): Promise<WorkerNode> {
  if (options.config.database === undefined) {
    throw new Error("a worker shares the metadata of servers: set --database to their Postgres database");
  }
  const shutdown = new ShutdownStack(options.logger);
  try {
    const stores = await openMetadata(options, "worker");
    shutdown.add("store", () => stores.close());
    const confinement = checkedConfinement(options.config, options.logger);
    await requireConfinedUsers(stores, options.config, confinement);
    run(options, stores, shutdown);
    return { nodeId: stores.leases.nodeId, stopped: stopWhenAborted(options.signal, shutdown) };
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

/** Constructs the rooms and starts their loops. */
function run(options: NodeOptions, stores: LeasedStores, shutdown: ShutdownStack): void {
  const { config, logger, signal } = options;
  const outgoing = new Outgoing(config);
  shutdown.add("outgoing", () => outgoing.proxy.closeAll());
  const given = { config, dataDir: resolve(config.dataDir), stores, logger, readyLauncher: new ReadyLauncher() };
  const services = openServices({
    ...given,
    ...{ claims: false, proxy: outgoing.proxy, policy: outgoing.pipes },
    // They come from engines, which only servers have.
    onAccessEvents: () => {},
    sqlUsersProblem: undefined,
    usersKnown: async () => {},
    backupPathOf: () => {
      throw new AppError("SERVICE_UNAVAILABLE", "A worker has no engines.");
    },
    restorerFor: async () => undefined,
  });
  const pipes = openPipes({
    ...given,
    acquire: (serviceId, waiting) => services.access.acquire(serviceId, waiting),
    running: (serviceId) => services.access.engines().get(serviceId)?.address,
    diskProblem: (serviceId) => services.disks.problemOf(serviceId),
    policy: outgoing.pipes,
    permits: outgoing.permits,
  });
  const loops = [leaseLoop(stores, options), services.loop, pipes.loop, pipes.watchLoop, pipes.vitalsLoop];
  const running = new Map(loops.map((loop) => [loop, loop.run(signal)]));
  stores.db.onTold(() => {
    for (const loop of [services.loop, pipes.loop]) loop.poke();
  });
  shutdown.add("services", () => services.close());
  // Other processes wait for the pipes, whatever the other loops are busy with.
  shutdown.addTogether({
    loops: () => Promise.all(running.values()),
    pipes: () => running.get(pipes.loop)?.then(() => pipes.close()),
  });
}
