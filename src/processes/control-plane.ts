/**
 * The composition root: opens one room after the other, and closes them in reverse order. Only this file passes objects
 * of one room to another.
 */
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openBackups } from "../backups/open.ts";
import { ensureCredentials, writeCredentials } from "../bootstrap.ts";
import { openCharts } from "../charts/open.ts";
import type { Config, SettingOrigins } from "../config.ts";
import { assertConfined, type ConfinementState, confinementState } from "../confinement/state.ts";
import { openEndpoint } from "../endpoint/open.ts";
import { openHttp } from "../http/open.ts";
import { AppError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { ShutdownStack } from "../lib/shutdown-stack.ts";
import { Outgoing } from "../network.ts";
import { openPipes } from "../pipes/control/open.ts";
import { openServices } from "../services/open.ts";
import { activityRetention } from "../store/activity-retention.ts";
import { AuditTrail, auditEventOf } from "../store/audit-events.ts";
import { renewEveryMs } from "../store/nodes.ts";
import { type LeasedStores, openStoresOf } from "../store/open.ts";

export type AppOptions = {
  readonly config: Config;
  readonly origins: SettingOrigins;
  readonly logger: Logger;
  readonly version: string;
  readonly signal: AbortSignal;
  /** Asks for `signal` to abort, with the reason. */
  readonly stop: (reason: Error) => void;
};

export type App = {
  readonly baseUrl: string;
  readonly credentialsFile: string;
  /** Resolves when the signal has aborted and everything is closed. */
  readonly stopped: Promise<void>;
};

/** Opens everything and listens. Whatever was opened is closed again when this throws or when the signal aborts. */
export async function startApp(options: AppOptions): Promise<App> {
  const shutdown = new ShutdownStack(options.logger);
  try {
    const stores = await openMetadata(options);
    shutdown.add("store", () => stores.close());
    const rooms = openRooms(options, stores, shutdown);
    const listening = await run(options, rooms, shutdown);
    return { ...listening, stopped: stopWhenAborted(options.signal, shutdown) };
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

type Rooms = ReturnType<typeof openRooms>;

/** Constructs the rooms without starting any loop. */
function openRooms(
  { config, logger, version, signal, stop }: AppOptions,
  stores: LeasedStores,
  shutdown: ShutdownStack,
) {
  const confinement = checkedConfinement(config, logger);
  const dataDir = resolve(config.dataDir);
  const outgoing = new Outgoing(config);
  shutdown.add("outgoing", () => outgoing.proxy.closeAll());
  const trail = new AuditTrail(stores.auditEvents, logger);
  shutdown.add("audit trail", () => trail.close());
  const tls = readTls(config);
  const given = { config, dataDir, stores, logger };

  const services = openServices({
    ...given,
    proxy: outgoing.proxy,
    policy: outgoing.pipes,
    onAccessEvents: (serviceId, events) => {
      for (const counted of events) trail.add({ ...counted, event: auditEventOf(serviceId, counted.event) });
    },
    backupPathOf: (serviceId) => backups.backupLocation.stagingOf(serviceId),
    restorerFor: (serviceId) => backups.restorerFor(serviceId, signal),
  });
  const { access, disks, acquireAny } = services;
  const endpoint = openEndpoint({
    services: stores.services,
    isElsewhere: (nodeId) => stores.leases.isElsewhere(nodeId),
    host: config.host,
    backend: access,
    logger,
    onEvent: (serviceId, event) => trail.note(auditEventOf(serviceId, event)),
    onPorts: (ports) => outgoing.listensOn({ services: ports }),
    ...(tls === undefined ? {} : { tls }),
  });
  const pipes = openPipes({
    ...given,
    acquire: (serviceId, waiting) => access.acquire(serviceId, waiting),
    running: (serviceId) => access.engines().get(serviceId)?.address,
    diskProblem: (serviceId) => disks.problemOf(serviceId),
    policy: outgoing.pipes,
    permits: outgoing.permits,
  });
  const backups = openBackups({ ...given, version, engine: acquireAny });
  const charts = openCharts({
    config,
    sources: stores.chartSources,
    engines: {
      acquire: (serviceId, waiting) => access.acquireReader(serviceId, waiting),
      observe: (serviceId) => access.observeReader(serviceId),
    },
  });
  const loops = [
    leaseLoop(stores, logger, stop),
    services.loop,
    services.metricsLoop,
    services.inventoryLoop,
    services.movesLoop,
    endpoint.loop,
    pipes.loop,
    pipes.watchLoop,
    pipes.vitalsLoop,
    activityRetention(stores.activities, config.activityRetentionDays, logger),
    backups.loop,
    backups.metadataLoop,
    backups.locationCheck.loop,
  ];
  return { dataDir, stores, outgoing, trail, tls, confinement, services, endpoint, pipes, backups, charts, loops };
}

/** How long one endpoint that cannot be opened may hold up the others. */
const readyTimeoutMs = 5_000;

/** Starts the loops and listens. */
async function run(options: AppOptions, rooms: Rooms, shutdown: ShutdownStack) {
  const { dataDir, stores, services, endpoint, pipes, backups, loops } = rooms;
  const http = await openHttp({ ...options, ...rooms });
  const credentialsFile = join(dataDir, "credentials.json");
  const issued = await ensureCredentials(credentialsFile, stores);
  // Before any loop starts: a port in use ends the start immediately.
  const { port, baseUrl } = await http.listen();
  rooms.outgoing.listensOn({
    api: [port, ...(options.config.cloudPort === undefined ? [] : [options.config.cloudPort])],
  });
  shutdown.add("gateway", () => endpoint.close());
  const running = loops.map((loop) => loop.run(options.signal));
  shutdown.add("services", () => services.close());
  shutdown.add("pipes", () => pipes.close());
  shutdown.add("backups", () => backups.close());
  shutdown.add("loops", () => Promise.all(running));
  shutdown.add("http", () => http.close());
  // Ready means that the endpoints of services listen too.
  await endpoint.loop.passed(readyTimeoutMs);
  const urls = { baseUrl, observabilityBaseUrl: baseUrl, cloudApiUrl: `${baseUrl}/cloud/v1` };
  writeCredentials(credentialsFile, { ...issued, ...urls });
  await stores.announce(baseUrl);
  options.logger.info({ baseUrl, dataDir }, "ready");
  return { baseUrl, credentialsFile };
}

async function openMetadata({ config, logger, version }: AppOptions): Promise<LeasedStores> {
  const { secretKey, database, allowAsyncReplication: allowsAsyncReplication } = config;
  return await openStoresOf({
    dataDir: openDataDir(config),
    ...{ role: "server", version, slots: config.slots },
    ...{ secretKey, database, allowsAsyncReplication },
    onStep: (step) => logger.info(step, "migrating the metadata"),
    onLost: (err) => logger.warn({ err }, "connection to the metadata database lost"),
  });
}

function leaseLoop(stores: LeasedStores, logger: Logger, stop: AppOptions["stop"]): Loop {
  const body = async () => {
    try {
      await stores.renew();
    } catch (error) {
      if (error instanceof AppError && error.code === "LEASE_LOST") stop(error);
      throw error;
    }
  };
  return new Loop({ name: "lease", everyMs: renewEveryMs, logger, body });
}

function checkedConfinement(config: Config, logger: Logger): ConfinementState {
  const confinement = confinementState();
  if (config.requireConfinement) assertConfined(confinement);
  if (confinement.missing.length > 0) logger.warn(confinement.sentence);
  return confinement;
}

/** Restricts the folder to this user, also when it existed before. */
function openDataDir(config: Config): string {
  const dataDir = resolve(config.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
  return dataDir;
}

function readTls({ tlsCert, tlsKey }: Config): { cert: Buffer; key: Buffer } | undefined {
  if (tlsCert === undefined) return undefined;
  return { cert: readFileSync(tlsCert), key: readFileSync(tlsKey as string) };
}

async function stopWhenAborted(signal: AbortSignal, shutdown: ShutdownStack): Promise<void> {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  await shutdown.closeAll();
}
