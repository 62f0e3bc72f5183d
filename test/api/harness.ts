/** The real HTTP server on real stores in a temporary directory, without engines: states are set through the store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { limits } from "../../harness/limits.ts";
import { anyNetwork } from "../../harness/network/network.ts";
import { openTestStores } from "../../harness/stores.ts";
import { openApiDocument } from "../../src/api/openapi.ts";
import { managementOperations, observabilityOperations } from "../../src/api/operations.ts";
import { rescan } from "../../src/backups/catalogue.ts";
import { planServerBackup, planServerRestore } from "../../src/backups/server/requirements.ts";
import { BackupTarget, backupLocationOptions } from "../../src/backups/storage/location.ts";
import { stateOf } from "../../src/confinement/state.ts";
import { FailedLogins } from "../../src/endpoint/auth/failed-logins.ts";
import { Authenticator } from "../../src/http/auth.ts";
import { BrowserRequests } from "../../src/http/browser.ts";
import { addCloudApi, type CloudApiOptions } from "../../src/http/cloud/routes.ts";
import { addConsoleSession } from "../../src/http/console-session.ts";
import { activityHandlers } from "../../src/http/handlers/activities.ts";
import { auditHandlers } from "../../src/http/handlers/audit.ts";
import { backupHandlers } from "../../src/http/handlers/backups.ts";
import { cdcScalingHandlers } from "../../src/http/handlers/cdc-scaling.ts";
import type { ConnectionDeps } from "../../src/http/handlers/external-services.ts";
import { historyHandlers } from "../../src/http/handlers/history.ts";
import { identityHandlers } from "../../src/http/handlers/identity.ts";
import { leftoverHandlers } from "../../src/http/handlers/leftovers.ts";
import { organizationHandlers } from "../../src/http/handlers/organizations.ts";
import { pipeBatchHandlers } from "../../src/http/handlers/pipe-batches.ts";
import { pipeErrorHandlers } from "../../src/http/handlers/pipe-errors.ts";
import { pipeListHandlers } from "../../src/http/handlers/pipe-lists.ts";
import { pipeHandlers } from "../../src/http/handlers/pipes.ts";
import { type PrometheusDeps, prometheusHandlers } from "../../src/http/handlers/prometheus.ts";
import { savedObjectHandlers } from "../../src/http/handlers/saved-objects.ts";
import { serviceMoveHandlers } from "../../src/http/handlers/service-moves.ts";
import { serviceHandlers } from "../../src/http/handlers/services.ts";
import { requireKnownHost } from "../../src/http/hosts.ts";
import { observabilityHandlers } from "../../src/http/observability.ts";
import { addPages } from "../../src/http/pages.ts";
import { RateLimiter } from "../../src/http/rate-limit.ts";
import { createApiServer } from "../../src/http/server.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { LoopStatus } from "../../src/lib/loop.ts";
import { Permits } from "../../src/outgoing/permits.ts";
import { PipeChecks } from "../../src/pipes/control/check.ts";
import { ErrorRows } from "../../src/pipes/control/error-rows.ts";
import { Vitals, type VitalsOptions } from "../../src/pipes/control/vitals.ts";
import { ServiceDisks } from "../../src/services/disks.ts";
import type { Moves } from "../../src/services/moves/moves.ts";
import { AuditTrail } from "../../src/store/audit-events.ts";
import type { BackupStore } from "../../src/store/backups.ts";
import type { CredentialStore } from "../../src/store/credentials.ts";
import type { Database } from "../../src/store/database.ts";
import type { ErrorRequestStore } from "../../src/store/error-requests.ts";
import type { Ledger } from "../../src/store/ledger.ts";
import type { Leftover, LeftoverStore } from "../../src/store/leftovers.ts";
import type { OrganizationLimits } from "../../src/store/limits.ts";
import type { Stores } from "../../src/store/open.ts";
import type { OrganizationStore } from "../../src/store/organizations.ts";
import type { PipeStore } from "../../src/store/pipes.ts";
import type { RestoreStore } from "../../src/store/restores.ts";
import type { ServiceStore } from "../../src/store/services.ts";
import { chartsWithoutEngine, engineHandlers, noEngine } from "./engine-handlers.ts";

export type Answer = {
  readonly status: number;
  readonly headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: bodies under test are looked at member by member
  readonly body: any;
  readonly text: string;
};

export type Api = AsyncDisposable & {
  readonly server: FastifyInstance;
  readonly organizationId: string;
  /** The folder of the database. */
  readonly dataDir: string;
  /** Folder of backups. */
  readonly backupDir: string;
  readonly db: Database;
  readonly services: ServiceStore;
  readonly connectionPasswords: Stores["connectionPasswords"];
  readonly cloudMembers: Stores["cloudMembers"];
  readonly webhooks: Stores["webhooks"];
  readonly queryEndpoints: Stores["queryEndpoints"];
  readonly serviceMoves: Stores["serviceMoves"];
  readonly disks: ServiceDisks;
  readonly backups: BackupStore;
  readonly restores: RestoreStore;
  readonly pipes: PipeStore;
  readonly leftovers: LeftoverStore;
  readonly ledger: Ledger;
  readonly errorRequests: ErrorRequestStore;
  readonly credentials: CredentialStore;
  readonly consoleSessions: Stores["consoleSessions"];
  readonly accessRevision: Stores["accessRevision"];
  readonly organizations: OrganizationStore;
  readonly trail: AuditTrail;
  readonly activities: Stores["activities"];
  readonly pipeHistory: Stores["pipeHistory"];
  readonly serviceHistory: Stores["serviceHistory"];
  /** Sampled by its `pass` only. */
  readonly vitals: Vitals;
  readonly keyId: string;
  readonly keySecret: string;
  /** Sends with the admin key unless `auth` says otherwise (null: no header). `body` may be raw text or bytes. */
  call(
    method: string,
    path: string,
    options?: { body?: unknown; auth?: string | null; headers?: Record<string, string> },
  ): Promise<Answer>;
};

export type ApiOptions = {
  rateLimit?: number;
  loginFailureLimit?: number;
  listensOn?: string;
  now?: () => number;
  metricsToken?: string;
  requestTimeoutMs?: number;
  checkEveryMs?: number;
  limits?: OrganizationLimits;
  defaultDiskGb?: number;
  /** The check of the connection to an external server; by default every server is right. */
  inspectConnection?: ConnectionDeps["inspectConnection"];
  /** What moves find in services; by default nothing. */
  planMove?: Moves["plan"];
  /** Services whose endpoint could not be opened. */
  endpointProblems?: ReadonlyMap<string, string>;
  /** What the loops report. */
  loops?: readonly LoopStatus[];
  /** Gauges of every pipe's workers. */
  gauges?: () => Record<string, number>;
  /** Readings of every engine; by default none. */
  readings?: PrometheusDeps["readings"];
  lastActivityAt?: () => number | undefined;
  /** Workers and gauges of pipes, for the samples. */
  measured?: VitalsOptions["measured"];
};

/** The constructor arguments of handlers, besides `options`. */
type Parts = {
  readonly dir: string;
  readonly stores: Stores;
  readonly disks: ServiceDisks;
  readonly failedLogins: FailedLogins;
  readonly trail: AuditTrail;
  readonly vitals: Vitals;
};

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-api-"));
  const stores = await openTestStores(dir);
  const parts: Parts = {
    dir,
    stores,
    disks: new ServiceDisks({ services: stores.services, logger: createLogger("silent") }),
    failedLogins: new FailedLogins({ perMinute: options.loginFailureLimit ?? 1000, wait: async () => {} }),
    trail: new AuditTrail(stores.auditEvents, createLogger("silent")),
    vitals: new Vitals({
      numbers: () => stores.pipeOverviews.numbers(),
      numbersRevision: () => `${stores.ledgerRevision()} ${stores.definitionRevision()}`,
      measured: options.measured ?? (() => new Map()),
      now: options.now,
    }),
  };
  const organization = await stores.organizations.create("Test");
  const owner = { organizationId: organization.id, name: "admin", expireAt: null };
  const { key, secret } = await stores.credentials.createKey({ ...owner, role: "admin", state: "enabled" });
  const server = await serverOf(options, parts);
  return {
    ...stores,
    server,
    organizationId: organization.id,
    dataDir: dir,
    backupDir: join(dir, "backups"),
    disks: parts.disks,
    trail: parts.trail,
    vitals: parts.vitals,
    keyId: key.keyId,
    keySecret: secret,
    call: caller(server, organization.id, basic(key.keyId, secret)),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await parts.trail.close();
      await stores.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function serverOf(options: ApiOptions, parts: Parts): Promise<FastifyInstance> {
  const { stores, failedLogins, trail } = parts;
  const authenticator = new Authenticator(stores, failedLogins, (event) => trail.note(event));
  const browser = new BrowserRequests({ port: () => 8150, secure: false, tls: false, publicUrl: undefined });
  const served: CloudApiOptions = {
    authenticator,
    browser,
    rateLimiter: new RateLimiter({ limit: options.rateLimit ?? 10_000, windowSeconds: 10 }, options.now),
    logger: createLogger("silent"),
    bodyLimitBytes: 1_048_576,
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
    ...(options.checkEveryMs === undefined ? {} : { checkEveryMs: options.checkEveryMs }),
    tls: undefined,
    signal: new AbortController().signal,
    requireKnownHost: requireKnownHost({ names: ["millrace.example"], listensOn: options.listensOn ?? "127.0.0.1" }),
    revision: () => stores.db.revision(),
    activities: stores.activities,
    sampledRevision: () => stores.definitionRevision() + parts.vitals.revision(),
    management: {
      operations: managementOperations,
      handlers: { ...engineHandlers(stores, parts.dir), ...handlersOf(options, parts) },
    },
    observability: {
      operations: observabilityOperations,
      handlers: observabilityHandlers({
        ...{ stores, charts: chartsWithoutEngine(stores), limits: options.limits ?? limits },
        endpoint: { protocol: "http", host: "127.0.0.1", hasPorts: true, hasNative: false },
        webhookPolicy: anyNetwork.policy,
        pokeAlerts: () => {},
      }),
    },
    cloudMembers: stores.cloudMembers,
    version: "0.0.0",
  };
  return await createApiServer({
    ...served,
    extend: (instance) => {
      addCloudApi(instance, served, "/cloud");
      addConsoleSession(instance, { authenticator, browser, ...identityOf(stores) });
      addPages(instance, {
        confinement: stateOf(7, "", 2),
        version: "0.0.0",
        operations: { ...managementOperations, ...observabilityOperations },
        openApi: () => openApiDocument({ management: managementOperations, observability: {}, version: "0.0.0" }),
        loops: () => options.loops ?? [],
        endpointProblems: () => options.endpointProblems ?? new Map(),
        samples: async () => [],
        metricsToken: options.metricsToken,
        failedLogins,
      });
    },
  });
}

function handlersOf(options: ApiOptions, { dir, stores, disks, trail, vitals }: Parts) {
  const { organizations, credentials, services, backups, restores, pipes, leftovers } = stores;
  // Without a supervisor: what is on record is what is left.
  const removal = { leftovers, afterAttempt: (list: () => Promise<Leftover[]>) => list() };
  const [most, poke] = [options.limits ?? limits, () => {}];
  const backupLocation = new BackupTarget(backupLocationOptions({ backupBucketRegion: "" }, dir));
  let port = 20_000;
  return {
    ...organizationHandlers({ ...{ organizations, credentials, pipes, services }, limits: most }),
    ...identityHandlers(identityOf(stores)),
    ...savedObjectHandlers({ savedObjects: stores.savedObjects, credentials, limits: most }),
    ...movesOf(options, stores),
    ...serviceHandlers({
      services,
      serviceMoves: stores.serviceMoves,
      facts: stores.serviceFacts,
      endpointOf: () => ({ protocol: "http", host: "127.0.0.1", hasPorts: true, hasNative: false }),
      ports: { pick: async () => port++, require: async () => {} },
      live: (row) => ({
        lastActivityAt: options.lastActivityAt?.(),
        diskUsedBytes: disks.usedBytes(row),
        diskProblem: disks.problem(row),
        endpointProblem: options.endpointProblems?.get(row.id),
        memoryNote: undefined,
      }),
      ...connectionDepsOf(options, stores),
      defaultDiskGb: options.defaultDiskGb,
      poke,
      endpointsOpen: async () => {},
      limits: most,
      backups,
      restores,
      ...removal,
    }),
    ...pipeHandlers({
      services,
      pipes,
      overviews: stores.pipeOverviews,
      chartSources: stores.chartSources,
      checks: checksWithoutEngine(),
      limits: most,
      ...removal,
      sourceWarning: () => undefined,
      gauges: options.gauges ?? (() => ({ lagMs: 5 })),
      poke,
    }),
    ...prometheusHandlers({
      ...{ services, pipes, readings: options.readings ?? (() => []), headers: () => [] },
      pipeOverviews: stores.pipeOverviews,
      gauges: options.gauges ?? (() => ({})),
    }),
    ...cdcScalingHandlers({ ...stores, poke }),
    ...pipeListHandlers({ overviews: stores.pipeOverviews, vitals: (id) => vitals.of(id) }),
    ...historyHandlers({ ...stores, now: options.now }),
    ...pipeBatchHandlers(stores),
    ...pipeErrorHandlers({
      ...stores,
      errorRows: new ErrorRows({ acquire: noEngine, running: () => undefined }),
      poke,
    }),
    ...leftoverHandlers({ leftovers, note: (event) => trail.note(event) }),
    ...auditHandlers({ events: stores.auditEvents }),
    ...activityHandlers({ activities: stores.activities }),
    ...backupsOf(stores, dir, backupLocation),
  };
}

function backupsOf({ services, backups, restores, pipes }: Stores, dir: string, backupLocation: BackupTarget) {
  const plannedFacts = { location: { kind: "local", root: dir }, encrypted: false } as const;
  const nowhere = { host: "127.0.0.1", port: 1 };
  return backupHandlers({
    services,
    backups,
    restores,
    role: { arn: "", sessionName: "" },
    defaults: { periodHours: 24, retentionHours: 24 },
    pipes,
    planRestore: noEngine,
    plannedFacts: () => plannedFacts,
    // The location is refused before a server is asked.
    requireServerBackup: async (_, signal) => {
      await planServerBackup(nowhere, { ...plannedFacts, keys: undefined }, [], signal);
    },
    requireServerRestore: async (_, backup, database, signal) => {
      await planServerRestore(nowhere, backup, undefined, database, signal);
    },
    retention: async () => [],
    rescan: (scope, signal) => rescan({ backupLocation, backups }, scope, signal),
    poke: () => {},
  });
}

function movesOf(options: ApiOptions, stores: Stores) {
  return serviceMoveHandlers({
    ...stores,
    ...connectionDepsOf(options, stores),
    planMove: options.planMove ?? (async () => ({ objects: [], left: [], obstacles: [] })),
    poke: () => {},
  });
}

function connectionDepsOf({ inspectConnection = async () => {} }: ApiOptions, { connectionPasswords }: Stores) {
  return { connectionPasswords, inspectConnection };
}

function identityOf(stores: Stores) {
  return { ...stores, version: "0.0.0", baseUrl: () => "http://127.0.0.1:8150" };
}

function checksWithoutEngine(): PipeChecks {
  return new PipeChecks({
    acquire: noEngine,
    policy: anyNetwork.policy,
    permits: new Permits(),
    ledger: { marks: async () => ({}) },
    limit: 8,
  });
}

function caller(server: FastifyInstance, organizationId: string, admin: string): Api["call"] {
  return async (method, path, { body, auth = admin, headers = {} } = {}) => {
    const response = await server.inject({
      method: method as "GET",
      url: path.replace("{o}", organizationId),
      headers: {
        ...(auth === null ? {} : { authorization: auth }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { payload: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    });
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    return {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      body: isJson ? response.json() : undefined,
      text: response.payload,
    };
  };
}

export function basic(keyId: string, secret: string): string {
  return `Basic ${Buffer.from(`${keyId}:${secret}`).toString("base64")}`;
}
