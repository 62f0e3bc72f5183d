/**
 * The composition root: reads top to bottom, stops in reverse order. The only place that constructs things of one room
 * for another.
 */
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openApiDocument } from "../api/openapi.ts";
import { managementOperations, observabilityOperations } from "../api/operations.ts";
import { rescan } from "../backups/catalogue.ts";
import { FileWorker } from "../backups/files/file-worker.ts";
import { BackupJobs } from "../backups/jobs.ts";
import type { EngineLease } from "../backups/make.ts";
import { MetadataBackups } from "../backups/metadata.ts";
import { backupSamples } from "../backups/metrics.ts";
import { BackupsReconciler } from "../backups/reconciler.ts";
import { defaultPeriodHours, defaultRetentionHours } from "../backups/schedule.ts";
import { BackupPlace, placeOptions } from "../backups/storage/place.ts";
import { ensureCredentials, writeCredentials } from "../bootstrap.ts";
import { Charts } from "../charts/charts.ts";
import { chartClients } from "../charts/clients.ts";
import { type Config, organizationLimits } from "../config.ts";
import { assertConfined, confinementState } from "../confinement/state.ts";
import { FailedLogins } from "../endpoint/auth/failed-logins.ts";
import { freePort } from "../endpoint/free-port.ts";
import { Gateway } from "../endpoint/gateway.ts";
import { openListeners } from "../endpoint/listeners.ts";
import { Authenticator } from "../http/auth.ts";
import { auditHandlers } from "../http/handlers/audit.ts";
import { backupHandlers } from "../http/handlers/backups.ts";
import { chartSourceHandlers } from "../http/handlers/chart-sources.ts";
import { chartHandlers } from "../http/handlers/charts.ts";
import { organizationHandlers } from "../http/handlers/organizations.ts";
import { pipeHandlers } from "../http/handlers/pipes.ts";
import { serviceHandlers } from "../http/handlers/services.ts";
import { hostInUrl } from "../http/hosts.ts";
import { processSamples, serviceSamples } from "../http/metrics.ts";
import { addPages } from "../http/pages.ts";
import { RateLimiter } from "../http/rate-limit.ts";
import { createServer } from "../http/server.ts";
import { Closers } from "../lib/closers.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { Outgoing } from "../network.ts";
import { PipeChecks } from "../pipes/control/check.ts";
import { pipeSamples } from "../pipes/control/metrics.ts";
import { PipesSupervisor } from "../pipes/control/supervisor.ts";
import { ServiceAccess } from "../services/access.ts";
import { ServiceDisks } from "../services/disks.ts";
import { isMerging } from "../services/merging.ts";
import { ServicesReconciler } from "../services/reconciler.ts";
import { EmbeddedRuntime } from "../services/runtimes/embedded.ts";
import { LendingRuntime } from "../services/runtimes/lending.ts";
import { AuditEventStore, AuditTrail, auditEventOf } from "../store/audit-events.ts";
import { BackupStore } from "../store/backups.ts";
import { ChartSourceStore } from "../store/chart-sources.ts";
import { CredentialStore } from "../store/credentials.ts";
import { openDatabase } from "../store/database.ts";
import { Ledger } from "../store/ledger.ts";
import { OrganizationStore } from "../store/organizations.ts";
import { PipeSnapshots } from "../store/pipe-snapshots.ts";
import { PipeStore } from "../store/pipes.ts";
import { RestoreStore } from "../store/restores.ts";
import { loadOrCreateKey, Sealer } from "../store/secrets.ts";
import { ServiceStore } from "../store/services.ts";

export type App = {
  readonly baseUrl: string;
  readonly credentialsFile: string;
  /** Resolves when the signal has aborted and everything is closed. */
  readonly stopped: Promise<void>;
};

export async function startApp(options: {
  config: Config;
  logger: Logger;
  version: string;
  signal: AbortSignal;
}): Promise<App> {
  const { config, logger, version, signal } = options;
  const closers = new Closers(logger);
  try {
    return await compose(config, logger, version, signal, closers);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function compose(config: Config, logger: Logger, version: string, signal: AbortSignal, closers: Closers) {
  const confinement = confinementState();
  if (config.requireConfinement) assertConfined(confinement);
  if (confinement.missing.length > 0) logger.warn(confinement.sentence);
  const dataDir = resolve(config.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  // It may have been there before, open to others.
  chmodSync(dataDir, 0o700);

  const db = openDatabase(join(dataDir, "millrace.db"));
  closers.add("store", () => db.close());
  const secretKey =
    config.secretKey === undefined
      ? loadOrCreateKey(join(dataDir, "secret.key"))
      : Buffer.from(config.secretKey, "base64");
  const sealer = new Sealer(secretKey);
  const organizations = new OrganizationStore(db);
  const credentials = new CredentialStore(db);
  const services = new ServiceStore(db);
  const pipes = new PipeStore(db, sealer);
  const ledger = new Ledger(db);

  const outgoing = new Outgoing(config);
  closers.add("outgoing", () => outgoing.proxy.closeAll());
  const auditEvents = new AuditEventStore(db);
  const trail = new AuditTrail(auditEvents, logger);
  closers.add("audit trail", () => trail.close());

  const access = new ServiceAccess(services);
  access.onDoorEvents((serviceId, events) => {
    for (const counted of events) trail.add({ ...counted, event: auditEventOf(serviceId, counted.event) });
  });
  const disks = new ServiceDisks({ services, logger });
  const place = new BackupPlace(placeOptions(config, dataDir));
  const runtime = new LendingRuntime(
    new EmbeddedRuntime({
      dataDir,
      maxQueries: config.engineSessions,
      minFreeDiskBytes: config.minFreeDiskGb * 2 ** 30,
      proxy: outgoing.proxy,
      usersOf: async (serviceId) =>
        (await services.listUsers(serviceId)).map((user) => ({ name: user.name, readonly: user.readonly === 1 })),
      backupPathOf: (serviceId) => place.stagingOf(serviceId),
      disks,
    }),
    async (serviceId) => {
      const restore = await restores.unfilled(serviceId);
      return restore && ((engine) => backupJobs.fill(restore, engine.address, signal));
    },
  );
  const reconciler = new ServicesReconciler({
    services,
    runtime,
    access,
    logger,
    idleMinuteMs: config.idleMinuteMs,
    poke: () => servicesLoop.poke(),
    isBusy: isMerging,
  });
  const servicesLoop = new Loop({
    name: "services",
    everyMs: Math.min(1_000, config.idleMinuteMs),
    logger,
    body: () => reconciler.pass(),
  });
  access.onWakeWanted(() => servicesLoop.poke());

  const tls = config.tlsCert === undefined ? undefined : readTls(config.tlsCert, config.tlsKey as string);
  const gateway = new Gateway({
    backend: access,
    logger,
    onEvent: (serviceId, event) => trail.note(auditEventOf(serviceId, event)),
    ...(tls === undefined ? {} : { tls }),
  });
  const gatewayLoop = new Loop({
    name: "gateway",
    everyMs: 2_000,
    logger,
    body: () =>
      openListeners(gateway, {
        services,
        host: config.host,
        onPorts: (ports) => outgoing.listensOn({ services: ports }),
      }),
  });

  const chartSources = new ChartSourceStore(db);
  const charts = new Charts({
    sources: chartSources,
    clientFor: chartClients((serviceId, waiting) => access.acquireReader(serviceId, waiting)),
    limits: {
      timeMs: config.chartTimeoutSeconds * 1000,
      memoryBytes: config.chartMemoryMb * 2 ** 20,
      rowsToRead: config.chartMaxRowsRead,
      runningPerToken: config.chartsPerToken,
      waitingPerToken: 256,
    },
  });

  const supervisor = new PipesSupervisor({
    pipes,
    services,
    ledger,
    acquire: (serviceId, waiting) => access.acquire(serviceId, waiting),
    diskProblem: (serviceId) => disks.problemOf(serviceId),
    dataDir,
    logger,
    limits: {
      sourceOutageMs: config.pipeSourceOutageSeconds * 1000,
      sourceSilenceMs: config.pipeSourceSilenceSeconds * 1000,
      destinationOutageMs: config.pipeDestinationOutageSeconds * 1000,
      retryBaseMs: 500,
    },
    policy: outgoing.pipes,
    permits: outgoing.permits,
    poke: () => pipesLoop.poke(),
  });
  const pipesLoop = new Loop({ name: "pipes", everyMs: 1_000, logger, body: () => supervisor.pass() });

  const backups = new BackupStore(db);
  const restores = new RestoreStore(db);
  const fileWorker = new FileWorker();
  const backupJobs = new BackupJobs({
    backups,
    restores,
    pipes: new PipeSnapshots(db, sealer),
    ledger,
    place,
    worker: fileWorker,
    dataDir,
    engine: engineLender(services, access, runtime),
    maxChain: config.backupChainLength,
    logger,
  });
  const backupsReconciler = new BackupsReconciler({
    backups,
    restores,
    services,
    jobs: backupJobs,
    logger,
    poke: () => backupsLoop.poke(),
    hourMs: config.backupHourMs,
    checkHours: config.backupCheckHours,
    onBackup: () => {
      metadataBackups.want();
      metadataLoop.poke();
    },
  });
  const backupsLoop = new Loop({
    name: "backups",
    everyMs: 1_000,
    logger,
    body: (stopping) => backupsReconciler.pass(stopping),
  });

  const metadataBackups = new MetadataBackups({
    db,
    place,
    worker: fileWorker,
    dataDir,
    secretKey: secretKey.toString("base64"),
    version,
    hourMs: config.backupHourMs,
    logger,
  });
  const metadataLoop = new Loop({
    name: "metadata backups",
    everyMs: 30_000,
    logger,
    body: (stopping) => metadataBackups.pass(stopping),
  });

  const loops = [servicesLoop, gatewayLoop, pipesLoop, backupsLoop, metadataLoop];
  const pokeAll = () => {
    for (const loop of loops) loop.poke();
  };
  const failedLogins = new FailedLogins({ perMinute: config.loginFailureLimit });
  const authenticator = new Authenticator(credentials, failedLogins, (event) => trail.note(event));
  const limits = organizationLimits(config);
  const endpoint = {
    protocol: tls === undefined ? ("http" as const) : ("https" as const),
    host: config.publicHost ?? config.host,
  };
  const server = await createServer({
    authenticator,
    rateLimiter: new RateLimiter({ limit: config.rateLimit, windowSeconds: config.rateWindowSeconds }),
    logger,
    bodyLimitBytes: config.bodyLimitBytes,
    tls,
    signal,
    management: {
      operations: managementOperations,
      handlers: {
        ...organizationHandlers({ organizations, credentials, limits }),
        ...serviceHandlers({
          services,
          endpoint,
          allocatePort: () => freePort(config.host),
          live: (row) => ({
            lastActivityAt: access.lastActivityAt(row.id),
            diskUsedBytes: disks.usedBytes(row),
            diskProblem: disks.problem(row),
          }),
          defaultDiskGb: config.serviceDiskGb,
          poke: pokeAll,
          endpointsOpen: () => gatewayLoop.passed(1_000),
          limits,
          backups,
          restores,
        }),
        ...pipeHandlers({
          services,
          pipes,
          checks: new PipeChecks({
            acquire: (serviceId, waiting) => access.acquire(serviceId, waiting),
            policy: outgoing.pipes,
            permits: outgoing.permits,
            limit: config.pipeChecksPerOrganization,
          }),
          limits,
          gauges: (id) => supervisor.gauges(id),
          poke: () => pipesLoop.poke(),
        }),
        ...auditHandlers({ events: auditEvents }),
        ...backupHandlers({
          services,
          backups,
          restores,
          role: { arn: config.backupIamRoleArn, sessionName: config.backupIamRoleSessionName },
          defaults: { periodHours: defaultPeriodHours, retentionHours: defaultRetentionHours },
          plannedFacts: () => backupJobs.plannedFacts(),
          retention: (serviceId) => backupsReconciler.retention(serviceId),
          rescan: (scope, waiting) => rescan({ place, backups }, scope, waiting),
          poke: () => backupsLoop.poke(),
        }),
      },
    },
    observability: {
      operations: observabilityOperations,
      handlers: { ...chartHandlers(charts), ...chartSourceHandlers({ sources: chartSources, services, limits }) },
    },
    extend: (instance) =>
      addPages(instance, {
        version,
        operations: managementOperations,
        openApi: () =>
          openApiDocument({ management: managementOperations, observability: observabilityOperations, version }),
        loops: () => loops.map((loop) => loop.status()),
        samples: async () => [
          ...(await serviceSamples(services, (row) => disks.usedBytes(row))),
          ...(await pipeSamples(pipes, (id) => supervisor.gauges(id))),
          ...(await backupSamples(backups)),
          ...processSamples(loops.map((loop) => loop.status())),
        ],
        confinement,
        hosts: [config.host, endpoint.host],
        metricsToken: config.metricsToken,
        failedLogins,
      }),
  });

  const credentialsFile = join(dataDir, "credentials.json");
  const issued = await ensureCredentials(credentialsFile, { organizations, credentials });
  closers.add("gateway", () => gateway.close());
  const running = loops.map((loop) => loop.run(signal));
  closers.add("services", () => reconciler.close());
  closers.add("pipes", () => supervisor.close());
  closers.add("file worker", () => fileWorker.close());
  closers.add("backups", () => backupsReconciler.close());
  closers.add("loops", () => Promise.all(running));
  await server.listen({ host: config.host, port: config.port });
  closers.add("http", () => server.close());
  const address = server.server.address();
  const port = typeof address === "object" && address !== null ? address.port : config.port;
  outgoing.listensOn({ api: [port] });
  const baseUrl = `${endpoint.protocol}://${hostInUrl(endpoint.host)}:${port}`;
  writeCredentials(credentialsFile, { ...issued, baseUrl, observabilityBaseUrl: baseUrl });
  logger.info({ baseUrl, dataDir }, "ready");
  return { baseUrl, credentialsFile, stopped: stopWhenAborted(signal, closers) };
}

/** Backups wake an idle service and count as its activity; a stopped one's engine is borrowed and serves nobody. */
function engineLender(services: ServiceStore, access: ServiceAccess, runtime: LendingRuntime) {
  return async (serviceId: string, signal: AbortSignal): Promise<EngineLease> => {
    const row = await services.find(serviceId);
    if (row?.desired_state === "stopped" && row.state === "stopped") {
      const lent = await runtime.lend(row);
      if (lent !== undefined) return lent;
    }
    const { address, release } = await access.acquire(serviceId, signal);
    return { address, release: async () => release() };
  };
}

async function stopWhenAborted(signal: AbortSignal, closers: Closers): Promise<void> {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  await closers.closeAll();
}

function readTls(cert: string, key: string): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(cert), key: readFileSync(key) };
}
