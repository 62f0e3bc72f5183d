/** Opens the room of services: the runtime, the access to engines, and the reconciler with its loop. */

import { runtimeTraits, traitsOf } from "../api/runtimes.ts";
import { type ClickHouseAddress, ClickHouseClient } from "../clickhouse/client.ts";
import type { AcquireEngine } from "../clickhouse/lease.ts";
import { type Config, organizationLimits } from "../config.ts";
import type { ReadyLauncher } from "../confinement/ready-launcher.ts";
import type { AccessEvents } from "../endpoint/auth/events.ts";
import type { EgressProxy } from "../endpoint/egress/proxy.ts";
import { ServicePorts } from "../endpoint/ports/service-ports.ts";
import type { EngineUser } from "../engine/chdb/users.ts";
import { parseHosts } from "../lib/host-list.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { parsePorts } from "../lib/port-range.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import type { LeasedStores } from "../store/open.ts";
import type { ServiceConnection } from "../store/services/service-connections.ts";
import type { ServiceUser } from "../store/services/service-users.ts";
import type { Service, ServiceStore } from "../store/services/services.ts";
import { ServiceAccess } from "./access.ts";
import { changeServiceAccess } from "./access-changes.ts";
import { ServiceDisks } from "./disks.ts";
import { type NodeFinder, requireHere } from "./elsewhere.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import { inspectConnection } from "./external/inspection.ts";
import { Inventories } from "./inventory/inventories.ts";
import { QueryHistory } from "./inventory/query-history.ts";
import { KubernetesApi } from "./kubernetes/api.ts";
import { Moves } from "./moves/moves.ts";
import { ServicesReconciler } from "./reconciler.ts";
import { ServiceRecorder } from "./recorder.ts";
import type { RunningEngine } from "./runtime.ts";
import { RuntimesByKind } from "./runtimes/by-kind.ts";
import { EmbeddedRuntime, homeOf } from "./runtimes/embedded.ts";
import { addressOfServer, type ExternalOptions, ExternalRuntime } from "./runtimes/external.ts";
import { KubernetesRuntime, NoKubernetes } from "./runtimes/kubernetes.ts";
import { type EngineRestorer, LeasingRuntime } from "./runtimes/leasing.ts";

/** Shorter than a sample of the history, so that none is left out. */
const metricsEveryMs = 4_500;
const inventoryEveryMs = 300_000;

export type ServicesOptions = {
  readonly config: Config;
  readonly dataDir: string;
  readonly stores: LeasedStores;
  readonly logger: Logger;
  /** False for a process that only connects to the servers of external services (default true). */
  readonly claims?: boolean;
  readonly readyLauncher: ReadyLauncher;
  /** The engines' proxy for outgoing connections. */
  readonly proxy: EgressProxy;
  /** Policy of connections to the servers of external services. */
  readonly policy: OutgoingPolicy;
  /** Why statements may not make users; undefined when they may. */
  readonly sqlUsersProblem: string | undefined;
  /** Called for logins and refusals of running engines. */
  readonly onAccessEvents: (serviceId: string, events: AccessEvents) => void;
  /** Resolves when the endpoint knows the stored users of services. */
  readonly usersKnown: () => Promise<void>;
  /** The only folder in which a service's engine may read and write backups. */
  readonly backupPathOf: (serviceId: string) => string;
  /** Restores a new service's data before it serves; undefined when there is nothing to restore. */
  readonly restorerFor: (serviceId: string) => Promise<EngineRestorer | undefined>;
};

export type Services = {
  readonly access: ServiceAccess;
  readonly disks: ServiceDisks;
  /** The one place that gives ports: it remembers those that are not stored yet. */
  readonly ports: ServicePorts;
  readonly acquireAny: AcquireEngine;
  readonly loop: Loop;
  /** Metrics of running engines, and the loop that queries them. */
  readonly metrics: EngineMetrics;
  readonly metricsLoop: Loop;
  /** What is in services, and the loop that keeps it. */
  readonly inventories: Inventories;
  readonly inventoryLoop: Loop;
  readonly queryHistory: QueryHistory;
  /** Moves of services to external servers, and the loop that carries them out. */
  readonly moves: Moves;
  readonly movesLoop: Loop;
  /** The runtime of services in Kubernetes; undefined where there is none. */
  readonly kubernetes: KubernetesRuntime | undefined;
  /** Tries the connection of an external service: see `inspectConnection`. */
  inspectConnection(connection: ServiceConnection, password: string, signal: AbortSignal): Promise<void>;
  /**
   * The server of a service that has none here. That of an external service has answered, and otherwise this throws
   * CONNECTION_UNREACHABLE; pods that do not run are not started, and there is none.
   */
  serverAddress(service: Service): Promise<ClickHouseAddress | undefined>;
  /** Stops every engine. */
  close(): Promise<void>;
};

export function openServices(options: ServicesOptions): Services {
  const { config, logger, claims = true } = options;
  const { services, leases } = options.stores;
  const access = new ServiceAccess(services, options.stores);
  access.onAccessEvents(options.onAccessEvents);
  const disks = new ServiceDisks({ services, logger });
  const kubernetes = kubernetesRuntime(options);
  const runtime = new LeasingRuntime(runtimesOf(options, disks, kubernetes), options.restorerFor);
  const { idleMinuteMs } = config;
  const inventories = new Inventories({ dataDir: options.dataDir, access, logger });
  const queryHistory = new QueryHistory({ dataDir: options.dataDir, access, logger });
  const reconciler = new ServicesReconciler({
    services,
    runtime,
    access,
    logger,
    idleMinuteMs,
    poke: () => loop.poke(),
    isBusy: isMerging,
    ...{ leases, claims },
    beforeStop: async (serviceId, engine) => {
      await Promise.all([inventories.beforeStop(serviceId, engine), queryHistory.beforeStop(serviceId, engine)]);
    },
  });
  const everyMs = Math.min(1_000, idleMinuteMs);
  const loop = new Loop({ name: "services", everyMs, logger, body: () => reconciler.pass() });
  access.onWakeWanted(() => loop.poke());
  const changing = {
    ...{ sqlAccess: options.stores.sqlAccess, access, limit: organizationLimits(config).users, logger },
    ...{ usersKnown: options.usersKnown, poke: () => loop.poke(), usersProblem: options.sqlUsersProblem },
  };
  access.onAccessChanges((serviceId, engine, change) => changeServiceAccess(changing, serviceId, engine, change));
  const metrics = new EngineMetrics(() => access.engines());
  const metricsLoop = openMetricsLoop(options, metrics, disks);
  const inventoryLoop = new Loop({
    name: "inventory",
    everyMs: inventoryEveryMs,
    logger,
    body: () => inventories.pass(),
  });
  const acquireAny = engineLeases(services, access, runtime, options.stores);
  const ports = servicePorts(options);
  const { moves, movesLoop } = openMoves(options, { acquire: acquireAny, ports, poke: () => loop.poke() });
  return {
    ports,
    kubernetes,
    moves,
    movesLoop,
    access,
    disks,
    metrics,
    metricsLoop,
    inventories,
    inventoryLoop,
    queryHistory,
    loop,
    acquireAny,
    inspectConnection: (connection, password, signal) =>
      inspectConnection(connection, password, options.policy, signal),
    serverAddress: async (service) => {
      if (!traitsOf(service).hasConnection) return access.engines().get(service.id)?.address;
      return (await addressOfServer(service, externalOptions(options))).address;
    },
    close: async () => {
      await moves.close();
      await reconciler.close();
    },
  };
}

function kubernetesRuntime({ config, stores, logger }: ServicesOptions): KubernetesRuntime | undefined {
  const { kubernetesNamespace: namespace, kubernetesKeeper: keeper, kubernetesConfig: configFile } = config;
  if (namespace === undefined) return undefined;
  const { connectionPasswords: passwords, services } = stores;
  const settings = {
    ...{ namespace, image: config.kubernetesImage, storageClass: config.kubernetesStorageClass },
    keeper: keeper === undefined ? [] : parseHosts(keeper),
    volumes: config.kubernetesVolumes,
  };
  return new KubernetesRuntime({
    api: new KubernetesApi({ namespace, configFile }),
    settings,
    passwords,
    services,
    logger,
  });
}

function runtimesOf(
  options: ServicesOptions,
  disks: ServiceDisks,
  kubernetes: KubernetesRuntime | undefined,
): RuntimesByKind {
  return new RuntimesByKind({
    embedded: embeddedRuntime(options, disks),
    external: new ExternalRuntime(externalOptions(options)),
    kubernetes:
      kubernetes ?? new NoKubernetes({ passwords: options.stores.connectionPasswords, logger: options.logger }),
  });
}

function externalOptions({ stores, policy, logger }: ServicesOptions): ExternalOptions {
  return { passwords: stores.connectionPasswords, policy, logger };
}

function servicePorts({ config, stores }: ServicesOptions): ServicePorts {
  return new ServicePorts({
    host: config.host,
    range: parsePorts(config.servicePorts),
    services: () => stores.services.listAll(),
  });
}

type MovesDeps = { readonly acquire: AcquireEngine; readonly ports: ServicePorts; readonly poke: () => void };

function openMoves(options: ServicesOptions, { acquire, ports, poke }: MovesDeps) {
  const { stores, logger } = options;
  const moves: Moves = new Moves({
    stores,
    acquire,
    policy: options.policy,
    folderOf: (serviceId) => homeOf(options.dataDir, serviceId),
    pickPort: () => ports.pick(),
    poke,
    again: () => movesLoop.poke(),
    logger,
  });
  const body = (stopping: AbortSignal) => moves.pass(stopping);
  const movesLoop = new Loop({ name: "moves", everyMs: 1_000, logger, body });
  return { moves, movesLoop };
}

function openMetricsLoop({ stores, logger }: ServicesOptions, metrics: EngineMetrics, disks: ServiceDisks): Loop {
  const { services } = stores;
  const recorder = new ServiceRecorder({
    history: stores.serviceHistory,
    usedBytes: (service) => disks.usedBytes(service),
    readings: (id) => metrics.readings(id),
  });
  return new Loop({
    name: "metrics",
    everyMs: metricsEveryMs,
    logger,
    body: async () => {
      await metrics.pass();
      const known = await services.listAll();
      metrics.keepOnly(new Set(known.map(({ id }) => id)));
      recorder.record(known, Date.now());
      for (const { id, tableRows, runtime } of known) {
        if (!stores.leases.holds("service", id)) continue;
        // Engines of our own report their use of the disk themselves.
        const bytes = runtimeTraits[runtime].isOwnProcess ? undefined : metrics.bytes(id);
        if (bytes !== undefined) await disks.report(id, bytes);
        const rows = metrics.rows(id);
        if (rows !== undefined && isWorthWriting(tableRows, rows)) await services.setTableRows(id, rows);
      }
    },
  });
}

/** Every write invalidates what is cached: only changes of more than a hundredth are kept. */
function isWorthWriting(written: number | null, rows: number): boolean {
  return written === null || Math.abs(rows - written) > written / 100;
}

function embeddedRuntime(options: ServicesOptions, disks: ServiceDisks) {
  const { config, dataDir, stores, proxy, readyLauncher, backupPathOf, logger } = options;
  return new EmbeddedRuntime({
    dataDir,
    readyLauncher,
    maxQueries: config.engineSessions,
    minFreeDiskBytes: Math.round(config.minFreeDiskGb * 2 ** 30),
    standbyEngines: config.standbyEngines,
    proxy,
    usersOf: async (serviceId) => ({
      users: (await stores.services.listUsers(serviceId)).map(engineUserOf),
      roles: await stores.sqlAccess.rolesOf(serviceId),
    }),
    backupPathOf,
    isMoving: (serviceId) => stores.serviceMoves.isOpen(serviceId),
    disks,
    logger,
  });
}

function engineUserOf({ name, readonly, rights }: ServiceUser): EngineUser {
  return { name, readonly, ...(rights === null ? {} : { rights }) };
}

/** True while merges are in progress, which stopping the engine would discard. */
async function isMerging(engine: RunningEngine): Promise<boolean> {
  using client = new ClickHouseClient(engine.address);
  return (await client.text("SELECT count() FROM system.merges FORMAT TSV")).trim() !== "0";
}

/**
 * Wakes an idle service and counts as its activity; a stopped service's engine is borrowed and serves no client. The
 * pods of a stopped service are not started: that may take as long as the cluster wants.
 */
function engineLeases(
  services: ServiceStore,
  access: ServiceAccess,
  runtime: LeasingRuntime,
  nodes: NodeFinder,
): AcquireEngine {
  return async (serviceId, signal) => {
    const row = await services.find(serviceId);
    if (row !== undefined) await requireHere(row, nodes);
    if (row?.desiredState === "stopped" && row.state === "stopped" && traitsOf(row).canBeReadStopped) {
      const lent = await runtime.lease(row);
      if (lent !== undefined) return lent;
    }
    const { address, release } = await access.acquire(serviceId, signal);
    return { address, release: async () => release() };
  };
}
