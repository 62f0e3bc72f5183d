/** Opens the HTTP server: both APIs with their handlers, and the other pages. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { openApiDocument } from "../api/openapi.ts";
import { managementOperations, observabilityOperations } from "../api/operations.ts";
import { rescan } from "../backups/catalogue.ts";
import { backupSamples } from "../backups/metrics.ts";
import type { Backups } from "../backups/open.ts";
import { defaultPeriodHours, defaultRetentionHours } from "../backups/schedule.ts";
import type { ChartsRoom } from "../charts/open.ts";
import { type Config, flagName, type SettingOrigins } from "../config.ts";
import { FailedLogins, type FailedLoginsOptions } from "../endpoint/auth/failed-logins.ts";
import { Upstreams } from "../endpoint/forward/upstream.ts";
import type { Endpoint } from "../endpoint/open.ts";
import type { CertificateFiles } from "../lib/certificate-files.ts";
import { announced } from "../lib/listen.ts";
import type { Logger } from "../lib/logger.ts";
import type { Loop } from "../lib/loop.ts";
import type { OutgoingPolicy } from "../outgoing/policy.ts";
import type { Pipes } from "../pipes/control/open.ts";
import { leftoverSamples, pipeSamples } from "../pipes/control/progress/metrics.ts";
import { workerSamples } from "../pipes/control/progress/worker-metrics.ts";
import type { ServiceAccess } from "../services/access.ts";
import type { ServiceDisks } from "../services/disks.ts";
import type { Services } from "../services/open.ts";
import { TelemetryReader } from "../sources/push/otlp/reader.ts";
import type { AuditTrail } from "../store/access/audit-events.ts";
import type { OrganizationLimits } from "../store/database/limits.ts";
import type { LeasedStores } from "../store/open.ts";
import { fixedHeaders } from "./answer/headers.ts";
import { rateHeaders } from "./caller/admission.ts";
import { Authenticator } from "./caller/auth.ts";
import { BrowserRequests } from "./caller/browser.ts";
import { addConsoleSession } from "./caller/console-session.ts";
import { RateLimiter } from "./caller/rate-limit.ts";
import { addCloudApi, type CloudApiOptions, createCloudServer } from "./cloud/routes.ts";
import { addConsolePages } from "./console/pages.ts";
import { type BackupDeps, backupHandlers } from "./handlers/backups.ts";
import { activityHandlers } from "./handlers/organization/activities.ts";
import { auditHandlers } from "./handlers/organization/audit.ts";
import { type IdentityDeps, identityHandlers } from "./handlers/organization/identity.ts";
import { organizationHandlers } from "./handlers/organization/organizations.ts";
import { cdcScalingHandlers } from "./handlers/pipes/cdc-scaling.ts";
import { type AfterAttempt, leftoverHandlers } from "./handlers/pipes/leftovers.ts";
import { pipeBatchHandlers } from "./handlers/pipes/pipe-batches.ts";
import { pipeErrorHandlers } from "./handlers/pipes/pipe-errors.ts";
import { pipeListHandlers } from "./handlers/pipes/pipe-lists.ts";
import { pipeHandlers } from "./handlers/pipes/pipes.ts";
import { historyHandlers } from "./handlers/saved/history.ts";
import { savedObjectHandlers } from "./handlers/saved/saved-objects.ts";
import { prometheusHandlers } from "./handlers/server/prometheus.ts";
import { systemHandlers } from "./handlers/server/system.ts";
import type { KubernetesDeps } from "./handlers/services/kubernetes-services.ts";
import { type QueryDeps, queryHandlers } from "./handlers/services/queries.ts";
import { queryEndpointHandlers } from "./handlers/services/query-endpoints.ts";
import { queryLogHandlers } from "./handlers/services/query-log.ts";
import { serviceMoveHandlers } from "./handlers/services/service-moves.ts";
import { type ServiceDeps, serviceHandlers } from "./handlers/services/services.ts";
import { tableHandlers } from "./handlers/services/tables.ts";
import { observabilityHandlers } from "./observability.ts";
import { PushGate } from "./push/gate.ts";
import { OtlpGrpcServer } from "./push/otlp-grpc.ts";
import { PushPipes } from "./push/pipes.ts";
import { addPush, type PushOptions } from "./push/routes.ts";
import { Space } from "./push/space.ts";
import { HeldBodies } from "./push/telemetry.ts";
import { hostInUrl, requireKnownHost } from "./request/hosts.ts";
import { type Certificates, certificateSamples } from "./server/certificates.ts";
import { processSamples, serviceSamples } from "./server/metrics.ts";
import { addPages, type PageOptions } from "./server/pages.ts";
import { createApiServer } from "./server/server.ts";
import { liveFactsOf, noteReader } from "./states.ts";
import { atNode, publicEndpoint } from "./views/endpoints.ts";
import type { EndpointFacts } from "./views/services.ts";

export type HttpOptions = {
  readonly config: Config;
  readonly origins: SettingOrigins;
  readonly dataDir: string;
  readonly stores: LeasedStores;
  readonly limits: OrganizationLimits;
  readonly logger: Logger;
  readonly version: string;
  readonly signal: AbortSignal;
  readonly tls: CertificateFiles | undefined;
  /** All that the server uses, by the setting of their file. */
  readonly certificates: Certificates;
  readonly trail: AuditTrail;
  readonly confinement: PageOptions["confinement"];
  readonly webhookPolicy: OutgoingPolicy;
  readonly pokeAlerts: () => void;
  /** Every loop of the control plane. */
  readonly loops: readonly Pick<Loop, "poke" | "status">[];
  /** Clock and waits, replaced in tests. */
  readonly times?: Pick<FailedLoginsOptions, "now" | "wait"> &
    Pick<CloudApiOptions, "requestTimeoutMs" | "checkEveryMs">;
} & HttpRooms;

/** What handlers use of the other rooms. */
export type HttpRooms = {
  readonly services: Omit<KubernetesDeps, "connectionPasswords"> &
    Pick<Services, "inspectConnection" | "serverAddress"> & {
      readonly access: Pick<ServiceAccess, "acquire" | "acquireRunning" | "engines" | "explained" | "lastActivityAt">;
      readonly disks: ServiceDisks;
      readonly ports: Pick<Services["ports"], "pick" | "require">;
      readonly moves: Pick<Services["moves"], "plan">;
      readonly metrics: Pick<Services["metrics"], "cpuCores" | "readings" | "samples">;
      readonly inventories: Services["inventories"];
      readonly queryHistory: Services["queryHistory"];
    };
  readonly endpoint: Pick<Endpoint, "problems" | "problemOf"> & { readonly loop: Pick<Loop, "passed"> };
  readonly pipes: Pick<
    Pipes,
    "checks" | "errorRows" | "expect" | "inboxes" | "gauges" | "sourceWarning" | "workers"
  > & {
    readonly loop: Pick<Loop, "poke">;
    readonly remover: Pick<Pipes["remover"], "afterAttempt">;
    readonly vitals: Pick<Pipes["vitals"], "of" | "revision">;
  };
  readonly backups: Pick<Backups, "jobs" | "reconciler" | "backupLocation" | "locationCheck" | "loop">;
  readonly charts: ChartsRoom;
};

export type Http = {
  readonly server: FastifyInstance;
  /** Listens as configured; resolves with the port and the address that clients use. */
  listen(): Promise<{ readonly port: number; readonly baseUrl: string }>;
  /** Answers a request of another listener. */
  readonly serve: (message: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
};

/** Shared by several handlers. */
type Shared = {
  readonly limits: OrganizationLimits;
  readonly endpoint: EndpointFacts;
  readonly identity: IdentityDeps;
  /** How the API is reached; the port is known once it listens. */
  readonly reached: { port: number; baseUrl: string };
  readonly rateLimiter: RateLimiter;
  /** Connections to engine hosts. */
  readonly upstreams: Upstreams;
};

export async function openHttp(options: HttpOptions): Promise<Http> {
  const { config, stores, trail, limits, times = {} } = options;
  const endpoint = publicEndpoint(config, options.tls !== undefined);
  const reached = { port: config.port, baseUrl: baseUrlOf(config, endpoint, config.port) };
  const identity = { ...stores, version: options.version, baseUrl: () => reached.baseUrl };
  const rateLimiter = new RateLimiter({ limit: config.rateLimit, windowSeconds: config.rateWindowSeconds }, times.now);
  const upstreams = new Upstreams();
  const shared = { limits, endpoint, identity, reached, rateLimiter, upstreams };
  const failedLogins = new FailedLogins({ perMinute: config.loginFailureLimit, ...times });
  const admission = {
    authenticator: new Authenticator(stores, failedLogins, (event) => trail.note(event)),
    browser: new BrowserRequests({
      port: () => reached.port,
      secure: endpoint.protocol === "https",
      tls: options.tls !== undefined,
      publicUrl: config.publicUrl,
    }),
    rateLimiter,
  };
  const served: CloudApiOptions = {
    ...admission,
    ...times,
    logger: options.logger,
    bodyLimitBytes: config.bodyLimitBytes,
    tls: options.tls,
    signal: options.signal,
    requireKnownHost: requireKnownHost({ names: namesOf(config, endpoint), listensOn: config.host }),
    revision: () => stores.db.revision(),
    activities: stores.activities,
    // Neither ever falls: the sum changes with each.
    sampledRevision: () => stores.definitionRevision() + options.pipes.vitals.revision(),
    management: { operations: managementOperations, handlers: managementHandlers(options, shared) },
    observability: { operations: observabilityOperations, handlers: observabilityHandlers({ ...options, ...shared }) },
    cloudMembers: stores.cloudMembers,
    version: options.version,
  };
  const pushed = pushOptions(options, admission.authenticator);
  const server = await createApiServer({
    ...served,
    extend: (instance) => {
      addCloudApi(instance, served, "/cloud");
      addPages(instance, pageOptions(options, failedLogins));
      addConsoleSession(instance, { ...admission, ...identity });
      addConsolePages(instance);
      addPush(instance, pushed);
    },
  });
  const cloudServer = config.cloudPort === undefined ? undefined : await createCloudServer(served);
  const otlp = config.otlpPort === undefined ? undefined : new OtlpGrpcServer({ ...pushed, ...options });
  return {
    server,
    listen: async () => {
      await otlp?.listen(config.host, config.otlpPort ?? 0);
      await cloudServer?.listen({ host: config.host, port: config.cloudPort ?? 0 });
      if (cloudServer !== undefined) announced(cloudServer.server);
      return Object.assign(reached, await listen(server, config, endpoint));
    },
    serve: (message, response) => void server.server.emit("request", message, response),
    close: async () => {
      await Promise.all([server.close(), cloudServer?.close(), otlp?.close()]);
      upstreams.close();
    },
  };
}

/** Bodies of OpenTelemetry of the greatest size that may be in memory at one time. */
const heldBodies = 4;

function pushOptions(
  { config, dataDir, stores, services, pipes, tls, signal }: HttpOptions,
  authenticator: Authenticator,
): PushOptions {
  const revision = () => stores.definitionRevision();
  const { inboxes } = pipes;
  const mostBytes = config.pushBodyLimitBytes;
  const pushPipes = new PushPipes({ pipes: stores.pipes, services: stores.services, revision });
  const space = new Space({
    ...{ folder: dataDir, inboxes, minFreeDiskGb: config.minFreeDiskGb },
    quotaProblem: (service, more) => services.disks.problem(service, more),
  });
  const isShared = config.database !== undefined;
  return {
    ...{ signal, mostBytes, tls: tls !== undefined, pipes: pushPipes },
    gate: new PushGate({ authenticator, inboxes, space, isShared, pipes: pushPipes, leases: stores.leases }),
    held: new HeldBodies(heldBodies * mostBytes),
    reader: new TelemetryReader(mostBytes),
  };
}

function namesOf({ publicUrl }: Config, { host }: EndpointFacts): string[] {
  return publicUrl === undefined ? [host] : [host, new URL(publicUrl).hostname];
}

function managementHandlers(options: HttpOptions, shared: Shared) {
  const { stores, services, pipes, trail } = options;
  const { limits } = shared;
  const headers: QueryDeps["headers"] = ({ request }) => [
    ...fixedHeaders(options.tls !== undefined),
    ...rateHeaders(shared, "management", request),
  ];
  const { access } = services;
  const note: QueryDeps["note"] = (event) => trail.note(event);
  const gauges = (id: string) => pipes.gauges(id);
  const poke = () => pipes.loop.poke();
  const queries: QueryDeps = { services: stores.services, access, upstreams: shared.upstreams, note, headers };
  return {
    ...organizationHandlers({ ...stores, limits }),
    ...identityHandlers(shared.identity),
    ...serviceHandlers(serviceDeps(options, shared)),
    ...serviceMoveHandlers({
      ...serviceDeps(options, shared),
      planMove: (...wanted) => services.moves.plan(...wanted),
    }),
    ...pipeHandlers({
      ...stores,
      checks: pipes.checks,
      expect: (...wanted) => pipes.expect(...wanted),
      limits,
      gauges,
      sourceWarning: (id) => pipes.sourceWarning(id),
      afterAttempt: afterAttemptOf(options),
      poke,
    }),
    ...cdcScalingHandlers({ ...stores, poke }),
    ...pipeListHandlers({ ...stores, vitals: (id) => pipes.vitals.of(id) }),
    ...historyHandlers({ ...stores, now: options.times?.now }),
    ...pipeBatchHandlers(stores),
    ...pipeErrorHandlers({ ...stores, errorRows: pipes.errorRows, poke }),
    ...leftoverHandlers({ ...stores, note }),
    ...auditHandlers(stores),
    ...activityHandlers(stores),
    ...savedObjectHandlers({ ...stores, limits }),
    ...systemHandlers({
      ...options,
      baseUrl: shared.identity.baseUrl,
      loops: () => options.loops.map((loop) => loop.status()),
      services: stores.services,
      engines: () => access.engines(),
      pipes: stores.pipes,
      workers: () => pipes.workers(),
      cpuCores: (id) => services.metrics.cpuCores(id),
    }),
    ...queryLogHandlers({ services: stores.services, history: services.queryHistory }),
    ...tableHandlers({ services: stores.services, inventories: services.inventories }),
    ...queryHandlers(queries),
    ...queryEndpointHandlers({ ...stores, ...queries }),
    ...prometheusHandlers({ ...stores, readings: (id) => services.metrics.readings(id), gauges, headers }),
    ...backupHandlers(backupDeps(options)),
  };
}

/** How deletions learn what is left at sources. */
function afterAttemptOf({ pipes }: HttpOptions): AfterAttempt {
  return (deleted, limitMs, signal) => pipes.remover.afterAttempt(deleted, limitMs, signal);
}

function serviceDeps(options: HttpOptions, shared: Shared): ServiceDeps {
  const { config, stores, services, endpoint, loops } = options;
  return {
    ...stores,
    endpointOf: ({ nodeId }) => atNode(shared.endpoint, stores.leases.addressOf(nodeId)),
    ports: services.ports,
    live: liveFactsOf(options),
    noteOf: noteReader(options),
    inspectConnection: services.inspectConnection,
    kubernetes: services.kubernetes,
    defaultDiskGb: config.serviceDiskGb,
    poke: () => {
      for (const loop of loops) loop.poke();
    },
    endpointsOpen: () => endpoint.loop.passed(1_000),
    afterAttempt: afterAttemptOf(options),
    limits: shared.limits,
  };
}

function backupDeps({ config, stores, services: engines, backups: room }: HttpOptions): BackupDeps {
  const { backups } = stores;
  return {
    ...stores,
    role: { arn: config.backupIamRoleArn, sessionName: config.backupIamRoleSessionName },
    defaults: { periodHours: defaultPeriodHours, retentionHours: defaultRetentionHours },
    plannedFacts: () => room.jobs.plannedFacts(),
    planRestore: (wanted, backup, serviceId, waiting) => {
      const address = serviceId === undefined ? undefined : engines.access.engines().get(serviceId)?.address;
      return room.jobs.planRestore(wanted, backup, address, waiting);
    },
    requireServerBackup: async (service, waiting) =>
      room.jobs.requireServerBackup(service.id, await engines.serverAddress(service), waiting),
    requireServerRestore: async (service, backup, database, waiting) =>
      room.jobs.requireServerRestore(await engines.serverAddress(service), backup, database, waiting),
    retention: (serviceId) => room.reconciler.retention(serviceId),
    rescan: (scope, waiting) => rescan({ backupLocation: room.backupLocation, backups }, scope, waiting),
    poke: () => room.loop.poke(),
  };
}

function pageOptions(options: HttpOptions, failedLogins: FailedLogins): PageOptions {
  const { config, stores, version, loops, services, pipes } = options;
  const statuses = () => loops.map((loop) => loop.status());
  return {
    version,
    operations: { ...managementOperations, ...observabilityOperations },
    openApi: () =>
      openApiDocument({ management: managementOperations, observability: observabilityOperations, version }),
    loops: statuses,
    endpointProblems: () => options.endpoint.problems(),
    samples: async () => [
      ...(await serviceSamples(stores.services, {
        usedBytes: (service) => services.disks.usedBytes(service),
        engine: ({ organizationId, id }) => services.metrics.samples(organizationId, id),
      })),
      ...(await pipeSamples(stores.pipes, (id) => pipes.gauges(id))),
      ...workerSamples(pipes.workers()),
      ...(await leftoverSamples(stores.leftovers)),
      ...(await backupSamples(stores.backups, await stores.services.listAll())),
      ...processSamples(statuses()),
      ...certificateSamples(options.certificates),
    ],
    confinement: options.confinement,
    metricsToken: config.metricsToken,
    failedLogins,
  };
}

async function listen(server: FastifyInstance, config: Config, endpoint: EndpointFacts) {
  try {
    await server.listen({ host: config.host, port: config.port });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const place = `${flagName("port")} ${config.port} of ${flagName("host")} ${config.host}`;
    if (code === "EADDRINUSE")
      throw new Error(`${place} is in use by another program: stop it, or choose another port`, { cause });
    if (code === "EACCES") throw new Error(`${place} is reserved for root: choose a port from 1024 on`, { cause });
    if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code ?? ""))
      throw new Error(`${place} is not an address of this machine`, { cause });
    throw cause;
  }
  const port = announced(server.server);
  return { port, baseUrl: baseUrlOf(config, endpoint, port) };
}

function baseUrlOf({ publicUrl }: Config, { protocol, host }: EndpointFacts, port: number): string {
  return publicUrl?.replace(/\/+$/, "") ?? `${protocol}://${hostInUrl(host)}:${port}`;
}
