/** Opens the control plane's side of pipes: the supervisor with its loop, and the checks of requests. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { ClickHouseAddress } from "../../clickhouse/client.ts";
import type { AcquireEngine } from "../../clickhouse/lease.ts";
import type { Config } from "../../config.ts";
import type { ReadyLauncher } from "../../confinement/ready-launcher.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Logger } from "../../lib/logger.ts";
import { Loop } from "../../lib/loop.ts";
import type { Permits } from "../../outgoing/permits.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import { connectorOf } from "../../sources/connectors.ts";
import { readStored } from "../../sources/contract/durable.ts";
import { inboxLane, pushShapes } from "../../sources/push/declaration/durable.ts";
import { Inboxes } from "../../sources/push/inbox/inboxes.ts";
import { isLedHere } from "../../store/nodes/leases.ts";
import type { LeasedStores } from "../../store/open.ts";
import type { NewPipe } from "../../store/pipes/pipes.ts";
import { ErrorRows } from "./cleanup/error-rows.ts";
import { ErrorWork } from "./cleanup/error-work.ts";
import { LeftoverRemover } from "./cleanup/leftovers.ts";
import { ReplicationSlotWatch } from "./cleanup/replication-slot-watch.ts";
import { PipeChecks } from "./definition/check.ts";
import { SharedReports } from "./progress/reports.ts";
import { Vitals, type VitalsOptions } from "./progress/vitals.ts";
import { PipeRecorder } from "./supervisor/recorder.ts";
import { type DiskProblem, Replica } from "./supervisor/replica.ts";
import { PipesSupervisor, type SupervisorOptions } from "./supervisor/supervisor.ts";
import { WorkerPool, type WorkerView } from "./workers/worker-pool.ts";

export type PipesOptions = {
  readonly config: Config;
  readonly dataDir: string;
  readonly stores: LeasedStores;
  readonly logger: Logger;
  /** The service's running engine. */
  readonly acquire: AcquireEngine;
  /** The engine of a service that runs; does not count as its activity. */
  readonly running: (serviceId: string) => ClickHouseAddress | undefined;
  /** Why a service accepts no rows for lack of disk. */
  readonly diskProblem: DiskProblem;
  readonly policy: OutgoingPolicy;
  readonly permits: Permits;
  readonly readyLauncher?: ReadyLauncher | undefined;
};

export type Pipes = {
  readonly checks: PipeChecks;
  readonly errorRows: ErrorRows;
  /** What was sent to pipes and is not loaded yet. */
  readonly inboxes: Inboxes;
  readonly loop: Loop;
  readonly remover: LeftoverRemover;
  readonly watchLoop: Loop;
  /** Rates and lag of all pipes, and the loop that samples them. */
  readonly vitals: Vitals;
  readonly vitalsLoop: Loop;
  /** What is known of the source of a pipe without workers that somebody should look at. */
  sourceWarning(pipeId: string): string | undefined;
  /** The pipe is well-formed and will be created here if both sides are as it says: its process starts meanwhile. */
  expect(organizationId: string, pipe: NewPipe): void;
  /** Running worker processes. */
  workers(): WorkerView[];
  /** Gauges of the running workers of a pipe; without workers, of its slot. */
  gauges(pipeId: string): Readonly<Record<string, number>>;
  /** Ends every worker. */
  close(): Promise<void>;
};

/** Without the setting, on a machine with many processors. */
const mostDefaultWorkers = 4;
const retryBaseMs = 500;
const watchEveryMs = 60_000;
const sampleEveryMs = 2_000;

export function openPipes(options: PipesOptions): Pipes {
  const { config, logger, acquire, policy, permits } = options;
  const { pipes, ledger, leftovers, leases } = options.stores;
  const inboxes = inboxesOf(options);
  const pool = poolOf(options, inboxes, () => loop.poke());
  const supervision: SupervisorOptions = {
    ...options.stores,
    ...options,
    inboxes,
    isAwake: (serviceId) => options.running(serviceId) !== undefined,
    limits: limitsOf(config),
    startWorker: (parts) => new Replica(parts, pool),
    tellOwnPorts: (ownPorts) => pool.tellOwnPorts(ownPorts),
    poke: () => loop.poke(),
  };
  const supervisor = new PipesSupervisor(supervision);
  const errorWork = new ErrorWork(supervision);
  const remover = new LeftoverRemover({ leftovers, connectorOf, policy, logger, poke: () => loop.poke() });
  const body = async () => {
    pool.look();
    // In this order: workers that outlived the control plane are ended before anything is removed behind them.
    await supervisor.pass();
    await errorWork.pass();
    if (await isLedHere(leases, "leftovers")) await remover.pass();
  };
  const loop = new Loop({ name: "pipes", everyMs: 1_000, logger, body });
  const watch = new ReplicationSlotWatch({
    ...{ pipes, leftovers, connectorOf, policy, logger },
    isLeftToOthers: (pipeId) => supervisor.reportOf(pipeId) !== undefined || !leases.holds("pipe", pipeId),
  });
  const watchLoop = new Loop({ name: "slots", everyMs: watchEveryMs, logger, body: () => watch.pass() });
  const reports = reportsOf(options.stores, supervisor, watch, inboxes);
  const vitals = vitalsOf(options.stores, () => reports.all());
  const recorder = recorderOf(options.stores, vitals);
  const sample = async () => {
    await reports.pass();
    await vitals.pass();
    await recorder.pass();
  };
  const vitalsLoop = new Loop({ name: "vitals", everyMs: sampleEveryMs, logger, body: sample });
  return {
    checks: new PipeChecks({ acquire, policy, permits, ledger, limit: config.pipeChecksPerOrganization }),
    inboxes,
    errorRows: new ErrorRows({ acquire, running: options.running }),
    loop,
    remover,
    watchLoop,
    vitals,
    vitalsLoop,
    expect: (organizationId, { serviceId, sourceKind, source, scaling, startPaused }) => {
      const isAlone = scaling.replicaMemoryGb !== undefined || scaling.replicaCpuMillicores !== undefined;
      if (startPaused === true || isAlone || !leases.holds("service", serviceId)) return;
      pool.expect({ organizationId, sourceKind, config: source[sourceKind] as JsonObject });
    },
    workers: () => pool.views(),
    gauges: (pipeId) => reports.of(pipeId).gauges,
    sourceWarning: (pipeId) => reports.of(pipeId).warning,
    close: async () => {
      await Promise.all([supervisor.close(), errorWork.close(), remover.close(), watch.close()]);
      pool.leaveUnused();
      await inboxes.close();
    },
  };
}

function inboxesOf({ dataDir, stores, logger }: PipesOptions): Inboxes {
  const { checkpoint } = pushShapes;
  return new Inboxes({
    folder: join(dataDir, "inbox"),
    checkpointOf: async (pipeId) => {
      const saved = (await stores.ledger.checkpoints(pipeId))[inboxLane];
      return saved === undefined ? 0 : readStored(checkpoint, saved, "position of the inbox");
    },
    logger,
  });
}

function limitsOf(config: Config): SupervisorOptions["limits"] {
  return {
    sourceOutageMs: config.pipeSourceOutageSeconds * 1000,
    sourceIdleTimeoutMs: config.pipeSourceSilenceSeconds * 1000,
    destinationOutageMs: config.pipeDestinationOutageSeconds * 1000,
    retryBaseMs,
  };
}

function poolOf(
  { config, dataDir, logger, readyLauncher }: PipesOptions,
  inboxes: Inboxes,
  poke: () => void,
): WorkerPool {
  return new WorkerPool({
    inboxFolder: (organizationId) => (organizationId === undefined ? inboxes.folder : inboxes.folderOf(organizationId)),
    ...{ dataDir, logger, readyLauncher, poke },
    workers: config.pipeWorkers ?? Math.min(mostDefaultWorkers, availableParallelism()),
    memoryMb: config.pipeWorkerMemoryMb,
    isShared: config.pipeWorkersShared,
  });
}

function reportsOf(
  stores: LeasedStores,
  supervisor: PipesSupervisor,
  watch: ReplicationSlotWatch,
  inboxes: Inboxes,
): SharedReports {
  return new SharedReports({
    reports: stores.pipeReports,
    leases: stores.leases,
    ownIds: () => [...supervisor.ids(), ...watch.ids(), ...inboxes.ids()],
    own: (id) => {
      const inbox = inboxes.gauges(id);
      const report = supervisor.reportOf(id) ?? { workers: 0, ...watch.seen(id) };
      return inbox === undefined ? report : { ...report, gauges: { ...report.gauges, ...inbox } };
    },
  });
}

function recorderOf({ pipeHistory, pipes }: LeasedStores, vitals: Vitals): PipeRecorder {
  return new PipeRecorder({
    history: pipeHistory,
    ids: async () => (await pipes.listAll()).map(({ id }) => id),
    vitals: (id) => vitals.of(id),
  });
}

function vitalsOf(stores: LeasedStores, measured: VitalsOptions["measured"]): Vitals {
  return new Vitals({
    numbers: () => stores.pipeOverviews.numbers(),
    // Errors are written with the states of pipes.
    numbersRevision: () => `${stores.ledgerRevision()} ${stores.definitionRevision()}`,
    measured,
  });
}
