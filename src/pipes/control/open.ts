/** Opens the control plane's side of pipes: the supervisor with its loop, and the checks of requests. */

import type { AcquireEngine } from "../../clickhouse/lease.ts";
import type { Config } from "../../config.ts";
import type { Logger } from "../../lib/logger.ts";
import { Loop } from "../../lib/loop.ts";
import type { Permits } from "../../outgoing/permits.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { Stores } from "../../store/open.ts";
import { PipeChecks } from "./check.ts";
import { type DiskProblem, Replica } from "./replica.ts";
import { PipesSupervisor } from "./supervisor.ts";

export type PipesOptions = {
  readonly config: Config;
  readonly dataDir: string;
  readonly stores: Stores;
  readonly logger: Logger;
  /** The service's running engine. */
  readonly acquire: AcquireEngine;
  /** Why a service accepts no rows for lack of disk. */
  readonly diskProblem: DiskProblem;
  readonly policy: OutgoingPolicy;
  readonly permits: Permits;
};

export type Pipes = {
  readonly checks: PipeChecks;
  readonly loop: Loop;
  /** Gauges of the running workers of a pipe. */
  gauges(pipeId: string): Readonly<Record<string, number>>;
  /** Ends every worker. */
  close(): Promise<void>;
};

const retryBaseMs = 500;

export function openPipes(options: PipesOptions): Pipes {
  const { config, dataDir, logger, acquire, policy, permits } = options;
  const { pipes, services, ledger } = options.stores;
  const supervisor = new PipesSupervisor({
    pipes,
    services,
    ledger,
    acquire,
    diskProblem: options.diskProblem,
    dataDir,
    logger,
    limits: {
      sourceOutageMs: config.pipeSourceOutageSeconds * 1000,
      sourceIdleTimeoutMs: config.pipeSourceSilenceSeconds * 1000,
      destinationOutageMs: config.pipeDestinationOutageSeconds * 1000,
      retryBaseMs,
    },
    policy,
    permits,
    startWorker: (parts) => new Replica(parts),
    poke: () => loop.poke(),
  });
  const loop = new Loop({ name: "pipes", everyMs: 1_000, logger, body: () => supervisor.pass() });
  const checks = new PipeChecks({ acquire, policy, permits, limit: config.pipeChecksPerOrganization });
  return { checks, loop, gauges: (pipeId) => supervisor.gauges(pipeId), close: () => supervisor.close() };
}
