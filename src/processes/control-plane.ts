/**
 * The composition root: opens one room after the other, and closes them in reverse order. Only this file passes objects
 * of one room to another.
 */

import { join, resolve } from "node:path";
import { openAlerts } from "../alerts/open.ts";
import { openBackups } from "../backups/open.ts";
import { ensureCredentials, writeCredentials } from "../bootstrap.ts";
import { openCharts } from "../charts/open.ts";
import { organizationLimits, type SettingOrigins } from "../config.ts";
import { ReadyLauncher } from "../confinement/ready-launcher.ts";
import type { ConfinementState } from "../confinement/state.ts";
import { openEndpoint } from "../endpoint/open.ts";
import { openHttp } from "../http/open.ts";
import { stateReader } from "../http/states.ts";
import { ShutdownStack } from "../lib/shutdown-stack.ts";
import { Outgoing } from "../network.ts";
import { openPipes } from "../pipes/control/open.ts";
import { openServices } from "../services/open.ts";
import { activityRetention } from "../store/access/activity-retention.ts";
import { AuditTrail, auditEventOf } from "../store/access/audit-events.ts";
import type { LeasedStores } from "../store/open.ts";
import { certificatesLoop, readCertificates } from "./certificates.ts";
import { endpointSettings } from "./gateway-options.ts";
import { checkedConfinement, leaseLoop, type NodeOptions, openMetadata, stopWhenAborted } from "./node.ts";
import { problemOfUnconfined, requireConfinedUsers } from "./unconfined.ts";

export type AppOptions = NodeOptions & { readonly origins: SettingOrigins };

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
    const stores = await openMetadata(options, "server");
    shutdown.add("store", () => stores.close());
    const confinement = checkedConfinement(options.config, options.logger);
    await requireConfinedUsers(stores, options.config, confinement);
    const rooms = openRooms(options, stores, confinement, shutdown);
    const listening = await run(options, rooms, shutdown);
    return { ...listening, stopped: stopWhenAborted(options.signal, shutdown) };
  } catch (error) {
    await shutdown.closeAll();
    throw error;
  }
}

type Rooms = ReturnType<typeof openRooms>;

/** Constructs the rooms without starting any loop. */
function openRooms(options: AppOptions, stores: LeasedStores, confinement: ConfinementState, shutdown: ShutdownStack) {
  const { config, logger, version, signal } = options;
  const dataDir = resolve(config.dataDir);
  const outgoing = new Outgoing(config);
  shutdown.add("outgoing", () => outgoing.proxy.closeAll());
  const trail = new AuditTrail(stores.auditEvents, logger);
  shutdown.add("audit trail", () => trail.close());
  const certificates = readCertificates(config);
  // One for engines and workers, whose launchers are alike.
  const given = { config, dataDir, stores, logger, readyLauncher: new ReadyLauncher() };

  const services = openServices({
    ...given,
    sqlUsersProblem: problemOfUnconfined({ confinement, config, organizations: 1, hasSqlUsers: true }),
    onAccessEvents: (serviceId, events) => {
      for (const counted of events) trail.add({ ...counted, event: auditEventOf(serviceId, counted.event) });
    },
    ...{ proxy: outgoing.proxy, policy: outgoing.pipes, usersKnown: () => endpoint.loop.passed(readyTimeoutMs) },
    backupPathOf: (serviceId) => backups.backupLocation.stagingOf(serviceId),
    restorerFor: (serviceId) => backups.restorerFor(serviceId, signal),
  });
  const { access, disks, acquireAny } = services;
  const endpoint = openEndpoint({
    ...{ services: stores.services, leases: stores.leases },
    ...endpointSettings(config, stores, certificates),
    backend: access,
    logger,
    onEvent: (serviceId, event) => trail.note(auditEventOf(serviceId, event)),
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
  const alerts = openAlerts({
    ...{ config, stores, logger, charts: charts.charts, policy: outgoing.webhooks },
    statesOf: stateReader({ stores, services, endpoint, pipes, dataDir }),
  });
  const loops = [
    leaseLoop(stores, options),
    certificatesLoop(certificates, logger),
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
    ...alerts.loops,
  ];
  const own = { dataDir, stores, outgoing, trail, tls: certificates.api, certificates, confinement };
  return { ...own, services, endpoint, pipes, backups, charts, alerts, loops };
}

/** How long one endpoint that cannot be opened may hold up the others. */
const readyTimeoutMs = 5_000;

/** Starts the loops and listens. */
async function run(options: AppOptions, rooms: Rooms, shutdown: ShutdownStack) {
  const { dataDir, stores, services, endpoint, pipes, backups, loops } = rooms;
  const http = await openHttp({
    ...options,
    ...rooms,
    limits: organizationLimits(options.config),
    webhookPolicy: rooms.outgoing.webhooks,
    pokeAlerts: rooms.alerts.poke,
  });
  const credentialsFile = join(dataDir, "credentials.json");
  const issued = await ensureCredentials(credentialsFile, stores);
  // Before any loop starts: a port in use ends the start immediately.
  const { baseUrl } = await http.listen();
  shutdown.add("gateway", () => endpoint.close());
  // Its first requests wait for the first pass of its loop.
  const { relay } = await endpoint.listen(http.serve);
  const running = new Map(loops.map((loop) => [loop, loop.run(options.signal)]));
  stores.db.onTold(() => {
    for (const loop of [services.loop, endpoint.loop, pipes.loop]) loop.poke();
  });
  shutdown.add("services", () => services.close());
  const ended = Promise.all(running.values());
  // Other processes wait for the pipes, whatever requests and the other loops are busy with.
  shutdown.addTogether({
    http: () => http.close(),
    backups: () => ended.then(() => backups.close()),
    pipes: () => running.get(pipes.loop)?.then(() => pipes.close()),
  });
  // Ready means that the endpoints of services listen too.
  await endpoint.loop.passed(readyTimeoutMs);
  const urls = { baseUrl, observabilityBaseUrl: baseUrl, cloudApiUrl: `${baseUrl}/cloud/v1` };
  writeCredentials(credentialsFile, { ...issued, ...urls });
  await stores.announce({ address: baseUrl, relay });
  options.logger.info({ baseUrl, dataDir }, "ready");
  return { baseUrl, credentialsFile };
}
