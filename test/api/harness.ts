/**
 * The real HTTP room on real stores in a temporary directory, beside rooms without a running loop: no engine starts,
 * and states are set through the store.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { limits } from "../../harness/limits.ts";
import { anyNetwork } from "../../harness/network/network.ts";
import { openTestStores } from "../../harness/stores.ts";
import { openBackups } from "../../src/backups/open.ts";
import { openCharts } from "../../src/charts/open.ts";
import { type Config, loadConfig, settingOrigins } from "../../src/config.ts";
import { stateOf } from "../../src/confinement/state.ts";
import { type HttpRooms, openHttp } from "../../src/http/open.ts";
import { AppError } from "../../src/lib/errors.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { LoopStatus } from "../../src/lib/loop.ts";
import { Permits } from "../../src/outgoing/permits.ts";
import { openPipes } from "../../src/pipes/control/open.ts";
import { Vitals, type VitalsOptions } from "../../src/pipes/control/progress/vitals.ts";
import { ServiceDisks } from "../../src/services/disks.ts";
import { Inventories } from "../../src/services/inventory/inventories.ts";
import { QueryHistory } from "../../src/services/inventory/query-history.ts";
import { AuditTrail } from "../../src/store/access/audit-events.ts";
import type { OrganizationLimits } from "../../src/store/database/limits.ts";
import type { LeasedStores, Stores } from "../../src/store/open.ts";

export type Answer = {
  readonly status: number;
  readonly headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: bodies under test are looked at member by member
  readonly body: any;
  readonly text: string;
};

export type Api = AsyncDisposable &
  Omit<Stores, "close"> & {
    readonly server: FastifyInstance;
    readonly organizationId: string;
    /** The folder of the database. */
    readonly dataDir: string;
    /** Folder of backups. */
    readonly backupDir: string;
    readonly disks: ServiceDisks;
    readonly trail: AuditTrail;
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
  publicHost?: string;
  now?: () => number;
  metricsToken?: string;
  requestTimeoutMs?: number;
  checkEveryMs?: number;
  limits?: OrganizationLimits;
  defaultDiskGb?: number;
  /** The check of the connection to an external server; by default every server is right. */
  inspectConnection?: HttpRooms["services"]["inspectConnection"];
  /** What moves find in services; by default nothing. */
  planMove?: HttpRooms["services"]["moves"]["plan"];
  /** Services whose endpoint could not be opened. */
  endpointProblems?: ReadonlyMap<string, string>;
  /** What the loops report. */
  loops?: readonly LoopStatus[];
  /** Gauges of every pipe's workers. */
  gauges?: () => Record<string, number>;
  /** Readings of every engine; by default none. */
  readings?: HttpRooms["services"]["metrics"]["readings"];
  lastActivityAt?: () => number | undefined;
  /** Workers and gauges of pipes, for the samples. */
  measured?: VitalsOptions["measured"];
};

/** What rooms are opened with. */
type Given = {
  readonly config: Config;
  readonly dataDir: string;
  readonly stores: LeasedStores;
  readonly logger: ReturnType<typeof createLogger>;
};

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-api-"));
  const stores = await openTestStores(dataDir);
  const logger = createLogger("silent");
  const config = configOf(options);
  const given = { config, dataDir, stores, logger };
  const trail = new AuditTrail(stores.auditEvents, logger);
  const vitals = new Vitals({
    numbers: () => stores.pipeOverviews.numbers(),
    numbersRevision: () => `${stores.ledgerRevision()} ${stores.definitionRevision()}`,
    measured: options.measured ?? (() => new Map()),
    now: options.now,
  });
  const disks = new ServiceDisks({ services: stores.services, logger });
  const organization = await stores.organizations.create("Test");
  const owner = { organizationId: organization.id, name: "admin", expireAt: null };
  const { key, secret } = await stores.credentials.createKey({ ...owner, role: "admin", state: "enabled" });
  const pipes = openPipes({
    ...given,
    ...{ acquire: noEngine, running: () => undefined, diskProblem: async () => undefined },
    ...{ policy: anyNetwork.policy, permits: new Permits() },
  });
  const backups = openBackups({ ...given, version: "0.0.0", engine: noEngine });
  const { server, close } = await openHttp({
    ...given,
    ...{ origins: settingOrigins({}, {}), limits: options.limits ?? limits, version: "0.0.0", trail },
    signal: new AbortController().signal,
    ...{ tls: undefined, certificates: { api: undefined, gateway: undefined } },
    confinement: stateOf(7, "", 2),
    ...{ webhookPolicy: anyNetwork.policy, pokeAlerts: () => {} },
    loops: (options.loops ?? []).map((status) => ({ poke: () => {}, status: () => status })),
    times: timesOf(options),
    services: servicesOf(options, given, disks),
    endpoint: endpointOf(options),
    pipes: {
      ...pipes,
      gauges: options.gauges ?? (() => ({ lagMs: 5 })),
      // Without a supervisor: what is on record is what is left.
      remover: { afterAttempt: ({ list }) => list() },
      vitals,
    },
    backups,
    charts: openCharts({
      config,
      sources: stores.chartSources,
      engines: { acquire: noEngine, observe: () => undefined },
    }),
  });
  return {
    ...stores,
    server,
    organizationId: organization.id,
    dataDir,
    backupDir: join(dataDir, "backups"),
    ...{ disks, trail, vitals },
    keyId: key.keyId,
    keySecret: secret,
    call: caller(server, organization.id, basic(key.keyId, secret)),
    [Symbol.asyncDispose]: async () => {
      await close();
      await Promise.all([pipes.close(), backups.close(), trail.close()]);
      await stores.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function configOf(options: ApiOptions): Config {
  const {
    rateLimit = 10_000,
    loginFailureLimit = 1000,
    listensOn = "127.0.0.1",
    publicHost,
    defaultDiskGb,
    metricsToken,
  } = options;
  return loadConfig(
    {
      ...{ host: listensOn, publicHost, rateLimit, rateWindowSeconds: 10, loginFailureLimit },
      ...{ bodyLimitBytes: 1_048_576, serviceDiskGb: defaultDiskGb, metricsToken },
    },
    {},
  );
}

function timesOf({ now, requestTimeoutMs, checkEveryMs }: ApiOptions) {
  return {
    wait: async () => {},
    ...(now === undefined ? {} : { now }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(checkEveryMs === undefined ? {} : { checkEveryMs }),
  };
}

async function noEngine(): Promise<never> {
  throw new AppError("SERVICE_UNAVAILABLE", "no engine here");
}

/** Services none of which runs. */
function servicesOf(options: ApiOptions, given: Given, disks: ServiceDisks): HttpRooms["services"] {
  const access = {
    acquire: noEngine,
    acquireRunning: () => undefined,
    explained: async (_: string, error: unknown) => error,
    engines: () => new Map(),
    lastActivityAt: () => options.lastActivityAt?.(),
  };
  let port = 20_000;
  return {
    ...{ access, disks },
    ports: { pick: async () => port++, require: async () => {} },
    inspectConnection: options.inspectConnection ?? (async () => {}),
    kubernetes: undefined,
    moves: { plan: options.planMove ?? (async () => ({ objects: [], left: [], obstacles: [] })) },
    queryHistory: new QueryHistory({ ...given, access }),
    inventories: new Inventories({ ...given, access }),
    metrics: { cpuCores: () => undefined, readings: options.readings ?? (() => []), samples: () => [] },
    serverAddress: async () => ({ host: "127.0.0.1", port: 1 }),
  };
}

function endpointOf({ endpointProblems = new Map<string, string>() }: ApiOptions): HttpRooms["endpoint"] {
  return {
    loop: { passed: async () => {} },
    problems: () => endpointProblems,
    problemOf: (serviceId) => endpointProblems.get(serviceId),
  };
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
