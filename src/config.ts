/**
 * The server's settings: one value, read once from flags and environment. `--help` and `docs/configuration.md` derive
 * from the descriptions here. The only reader of `process.env` besides the command line.
 */
import { z } from "zod";
import { gatewayProblem, gatewaySettings } from "./config/gateway.ts";
import { kubernetesSettings } from "./config/kubernetes.ts";
import { parsingProblem, refusing } from "./config/problem.ts";
import { nearMatches } from "./lib/near-matches.ts";
import { numberText } from "./lib/number-text.ts";
import { parsePorts } from "./lib/port-range.ts";
import { parseReach } from "./outgoing/policy.ts";
import { sourceKindKeys } from "./sources/contract/descriptions.ts";
import type { OrganizationLimits } from "./store/database/limits.ts";
import { problemOfUrl } from "./store/postgres/postgres-url.ts";

/** Every number has a largest value, up to which what is computed from it works. */
const whole = (least: number, most: number) => numberText(z.int().min(least).max(most));

const anyCount = whole(1, 1_000_000_000);
/** 1 PiB. */
const gibibytes = whole(1, 2 ** 20);
const mebibytes = (least: number) => whole(least, 2 ** 30);
/** Timers take up to 2^31 ms. */
const seconds = whole(1, 2_147_483);
const milliseconds = whole(1, 2_147_483_647);

const reach = z
  .string()
  .superRefine(refusing((text) => parsingProblem(() => parseReach(text))))
  .optional();

export const settings = {
  dataDir: z.string().min(1).default("data").describe("Directory for metadata, databases and credentials"),
  database: z
    .string()
    .superRefine(refusing(problemOfUrl))
    .optional()
    .describe(
      "Postgres database for the metadata, as postgres://user:password@host:5432/database; several hosts, as host1:5432,host2:5432, are a primary and its standbys. Set it in the environment, because flags are visible in `ps`; default: SQLite in --data-dir. See docs/metadata-on-postgres.md",
    ),
  allowAsyncReplication: z
    .stringbool()
    .default(false)
    .describe(
      "Use a Postgres database whose failover may lose confirmed transactions: asynchronous standbys, or synchronous_commit off. Rows may then arrive twice after a failover",
    ),
  host: z.string().min(1).default("127.0.0.1").describe("Listen address of the API and of the service endpoints"),
  port: whole(0, 65_535).default(8150).describe("Port of the API; 0 selects a free port"),
  cloudPort: whole(1, 65_535)
    .optional()
    .describe(
      "Port with the ClickHouse Cloud API at `/v1`, for clients that lose the path of a URL; default: only below `/cloud` of the API's port",
    ),
  otlpPort: whole(1, 65_535)
    .optional()
    .describe(
      "Port with OpenTelemetry over gRPC, for pipes with the format otlp; default: none. OpenTelemetry over HTTP is below the address of each pipe",
    ),
  servicePorts: z
    .string()
    .superRefine(refusing((text) => parsingProblem(() => parsePorts(text))))
    .default("21000-21999")
    .describe(
      "Port range for services that are created without `port`; should not overlap the ephemeral ports of the system. `none`: services have endpoints at the gateway only",
    ),
  ...gatewaySettings,
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "URL of the API as clients see it, for use behind a proxy; service endpoints show its scheme and host name",
    ),
  publicHost: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Host name shown in service endpoints and URLs; default: the host name of --public-url, otherwise --host",
    ),
  tlsCert: z
    .string()
    .min(1)
    .optional()
    .describe(
      "PEM certificate file; together with --tls-key it enables https for the API and all services. Both files are read again when they change",
    ),
  tlsKey: z.string().min(1).optional().describe("PEM private key file"),
  secretKey: z
    .base64()
    .optional()
    .describe(
      "Key that encrypts stored secrets: 32 bytes in base64. Set it in the environment, because flags are visible in `ps`; default: a generated key file with mode 0600 in --data-dir",
    ),
  logLevel: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Lowest level that is logged"),
  logFormat: z
    .enum(["auto", "json", "pretty"])
    .default("auto")
    .describe("`json` logs one object per line, `pretty` lines for people; `auto` is `pretty` on a terminal"),
  bodyLimitBytes: whole(1_024, 2 ** 30)
    .default(1_048_576)
    .describe("Largest request body of the API"),
  pushBodyLimitBytes: whole(1_024, 2 ** 30)
    .default(67_108_864)
    .describe("Largest body of a request that sends rows to a pipe, after decompression"),
  rateLimit: anyCount.default(200_000).describe("Requests per key or token within one rate window"),
  rateWindowSeconds: seconds.default(10).describe("Length of the rate window in seconds"),
  loginFailureLimit: anyCount
    .default(60)
    .describe("Failed logins per minute and client address; more are answered with 429"),
  metricsToken: z
    .string()
    .regex(/^[\x21-\x7e]{16,512}$/, { error: "must be 16 to 512 characters without spaces" })
    .optional()
    .describe(
      "Bearer token that `/metrics` requires. Set it in the environment, because flags are visible in `ps`; default: no token, and `/metrics` answers clients on this machine only",
    ),
  // The server asks the engine itself, also while it starts.
  engineSessions: whole(4, 100_000)
    .default(1_000)
    .describe("Concurrent queries of one service; more are refused with TOO_MANY_SIMULTANEOUS_QUERIES"),
  standbyEngines: whole(0, 1_000)
    .default(2)
    .describe(
      "Number of idle services, those that became idle last, whose next start is prepared: they wake in about half the time, and each takes about 50 MB",
    ),
  minFreeDiskGb: numberText(
    z
      .number()
      .min(0)
      .max(2 ** 20),
  )
    .default(1)
    .describe("Free disk space, in GiB, below which services refuse inserts; metadata is still written"),
  serviceDiskGb: gibibytes
    .optional()
    .describe("Disk quota, in GiB, of services that are created without `diskGb`; default: none"),
  chartTimeoutSeconds: seconds.default(30).describe("Time limit of one chart query in seconds"),
  chartMemoryMb: mebibytes(1).default(2048).describe("Memory limit of one chart query, in MiB"),
  chartMaxRowsRead: whole(1, Number.MAX_SAFE_INTEGER)
    .default(10_000_000_000)
    .describe("Maximum number of rows that one chart query may read"),
  chartsPerToken: anyCount.default(8).describe("Concurrent chart requests of one access token; others wait"),
  backupDir: z.string().min(1).optional().describe("Directory for backups; default: `backups` in --data-dir"),
  backupBucket: z
    .string()
    .regex(/^s3:\/\/[^/]+(\/.*)?$/, { error: "must look like s3://bucket/prefix" })
    .optional()
    .describe("S3-compatible bucket for backups, as s3://bucket/prefix; replaces --backup-dir"),
  backupBucketEndpoint: z.url().optional().describe("Endpoint URL of the object store, if it is not AWS S3"),
  backupBucketRegion: z.string().min(1).default("us-east-1").describe("Region of the backup bucket"),
  backupAccessKeyId: z
    .string()
    .min(1)
    .optional()
    .describe("Access key id for the backup bucket; default: the AWS credential chain"),
  backupSecretAccessKey: z.string().min(1).optional().describe("Secret access key for the backup bucket"),
  externalBackupAccessKeyId: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Access key id for the backup bucket that the servers of external services, and those of services in Kubernetes, receive with each backup and restore; default: external servers use their own named collection. See docs/external.md",
    ),
  externalBackupSecretAccessKey: z
    .string()
    .min(1)
    .optional()
    .describe("Secret access key for the backup bucket that these servers receive"),
  backupIamRoleArn: z.string().default("").describe("Role that the credential chain assumes, shown in backup records"),
  backupIamRoleSessionName: z.string().default("").describe("Session name of that role, shown in backup records"),
  backupEncryptionKey: z
    .base64()
    .optional()
    .describe("Key that encrypts backups before they are stored: 32 bytes in base64"),
  backupChainLength: whole(1, 10_000)
    .default(7)
    .describe("Backups in a chain: one full backup and the incremental backups based on it"),
  backupCheckHours: whole(0, 876_000)
    .default(168)
    .describe(
      "Hours between checks: stored backups are read again, and the newest one is restored as a trial; 0: never",
    ),
  backupHourMs: milliseconds
    .default(3_600_000)
    .describe("Length of an hour in backup periods, in ms; tests shorten it"),
  pipeSourceNetworks: reach.describe(
    "Destinations that pipes may connect to: a comma-separated list of networks (10.0.0.0/8), addresses and the keywords public, private, loopback, any, none; default: any if host is a loopback address, otherwise public",
  ),
  sqlNetworks: reach.describe(
    "Destinations that the object storage functions of SQL may connect to, in the same form; default: the value of --pipe-source-networks if it is set, otherwise public",
  ),
  webhookNetworks: reach.describe(
    "Destinations that webhooks may connect to, in the same form; default: the value of --pipe-source-networks if it is set, otherwise public",
  ),
  servicesPerOrganization: anyCount.default(200).describe("Maximum number of services per organization"),
  memoryGbPerOrganization: anyCount
    .default(4096)
    .describe("Maximum sum of `maxReplicaMemoryGb` over the services of one organization, in GB"),
  usersPerService: anyCount.default(500).describe("Maximum number of database users per service"),
  pipesPerOrganization: anyCount.default(500).describe("Maximum number of pipes per organization"),
  replicasPerPipe: anyCount.default(20).describe("Maximum number of replicas of one pipe"),
  pipeWorkers: whole(1, 1_000)
    .optional()
    .describe(
      "Worker processes per organization and kind of source, shared by its pipes; default: the number of processors, at most 4",
    ),
  pipeWorkerMemoryMb: mebibytes(256)
    .default(4096)
    .describe("Memory of a worker process, in MiB; above it, its pipes continue in another process"),
  slots: whole(0, 1_000_000_000)
    .optional()
    .describe(
      "Pipes of external services and of services in Kubernetes that this process runs at most, where several processes share a Postgres database; 0 leaves them to the others, such as `millrace worker`; default: no limit",
    ),
  pipeKinds: z
    .string()
    .superRefine((text, context) => {
      const unknown = text.split(",").find((kind) => !sourceKindKeys.some((known) => known === kind));
      if (unknown === undefined) return;
      const message = `"${unknown}" is not a kind of pipes: name some of ${sourceKindKeys.join(", ")}, separated by commas`;
      context.addIssue({ code: "custom", message });
    })
    .optional()
    .describe(
      `Kinds of the pipes that count for \`slots\`, separated by commas: ${sourceKindKeys.join(", ")}. Other pipes are left to other processes; default: all`,
    ),
  pipeSizes: z
    .enum(["own", "shared"])
    .optional()
    .describe(
      "Takes only pipes whose `scaling` sets memory or processors of their replicas (own), or only the others (shared); default: both",
    ),
  pipeWorkersShared: z
    .stringbool()
    .default(false)
    .describe("Pipes of different organizations may share worker processes, with the secrets of their sources"),
  chartSourcesPerOrganization: anyCount.default(2000).describe("Maximum number of chart sources per organization"),
  savedObjectsPerOrganization: anyCount
    .default(2000)
    .describe(
      "Maximum number of saved queries, charts, searches, dashboards and drafts per organization; the same limit applies to webhooks, and to alerts",
    ),
  keysPerOrganization: anyCount
    .default(200)
    .describe("Maximum number of API keys per organization; the same limit applies to access tokens"),
  activityRetentionDays: whole(1, 36_500)
    .default(90)
    .describe("Days after which activities are deleted; of each organization at most the newest 100,000 are kept"),
  pipeChecksPerOrganization: anyCount
    .default(8)
    .describe("Concurrent pipe checks and schema discoveries per organization"),
  pipeSourceOutageSeconds: seconds
    .default(900)
    .describe("Seconds after which a pipe whose source does not answer becomes Failed"),
  pipeSourceSilenceSeconds: seconds
    .default(30)
    .describe("Seconds without data after which a silent connection to a source is treated as broken and replaced"),
  pipeDestinationOutageSeconds: seconds
    .default(3_600)
    .describe("Seconds after which a pipe whose destination refuses inserts becomes Failed"),
  ...kubernetesSettings,
  requireConfinement: z
    .stringbool()
    .default(false)
    .describe("Refuse to start if the kernel cannot confine engines and pipe workers"),
  unconfined: z
    .stringbool()
    .default(false)
    .describe(
      "Where the kernel cannot confine engines and pipe workers, run also with a `host` beyond loopback, several organizations or users made by SQL: all of them are then trusted like the operator",
    ),
  idleMinuteMs: milliseconds
    .default(60_000)
    .describe("Length of a minute in idleTimeoutMinutes, in ms; tests shorten it"),
};

const schema = z
  .object(settings)
  .refine((value) => (value.tlsCert === undefined) === (value.tlsKey === undefined), {
    error: "tlsCert and tlsKey must be set together",
  })
  .superRefine(refusing(gatewayProblem))
  .refine((value) => value.cloudPort === undefined || value.cloudPort !== value.port, {
    error: "cloudPort must differ from port",
  })
  .refine((value) => value.otlpPort === undefined || ![value.port, value.cloudPort].includes(value.otlpPort), {
    error: "otlpPort must differ from port and cloudPort",
  })
  .refine((value) => (value.backupAccessKeyId === undefined) === (value.backupSecretAccessKey === undefined), {
    error: "backupAccessKeyId and backupSecretAccessKey must be set together",
  })
  .refine(
    (value) => (value.externalBackupAccessKeyId === undefined) === (value.externalBackupSecretAccessKey === undefined),
    { error: "externalBackupAccessKeyId and externalBackupSecretAccessKey must be set together" },
  )
  .refine((value) => value.backupDir === undefined || value.backupBucket === undefined, {
    error: "backupDir and backupBucket cannot both be set",
  })
  .refine((value) => is32Bytes(value.backupEncryptionKey), { error: "backupEncryptionKey must be 32 bytes in base64" });

function is32Bytes(base64: string | undefined): boolean {
  return base64 === undefined || Buffer.from(base64, "base64").length === 32;
}

export type Config = z.output<typeof schema>;

/** `dataDir` -> `--data-dir`. */
export function flagName(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `dataDir` -> `MILLRACE_DATA_DIR`. */
export function environmentName(name: string): string {
  return `MILLRACE_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Limits of organizations, with the flags that set them. */
export function organizationLimits(config: Config): OrganizationLimits {
  const limit = (name: keyof Config) => ({ most: Number(config[name]), setting: flagName(name) });
  return {
    services: limit("servicesPerOrganization"),
    memoryGb: limit("memoryGbPerOrganization"),
    users: limit("usersPerService"),
    pipes: limit("pipesPerOrganization"),
    replicas: limit("replicasPerPipe"),
    chartSources: limit("chartSourcesPerOrganization"),
    savedObjects: limit("savedObjectsPerOrganization"),
    keys: limit("keysPerOrganization"),
  };
}

/** Settings whose values are never shown. */
export const secretSettings: ReadonlySet<string> = new Set<keyof typeof settings>([
  "database",
  "secretKey",
  "metricsToken",
  "backupAccessKeyId",
  "backupSecretAccessKey",
  "externalBackupAccessKeyId",
  "externalBackupSecretAccessKey",
  "backupEncryptionKey",
]);

export type SettingOrigins = { readonly [Name in keyof typeof settings]: "flag" | "environment" | "default" };

/** Where `loadConfig` takes each setting from. */
export function settingOrigins(
  flags: Record<string, unknown>,
  environment: NodeJS.ProcessEnv = process.env,
): SettingOrigins {
  const origins = Object.keys(settings).map((name) => {
    if (givenValue(name, flags, environment) === undefined) return [name, "default"];
    return [name, flags[name] === undefined ? "environment" : "flag"];
  });
  return Object.fromEntries(origins) as SettingOrigins;
}

/** Undefined: not set. */
function givenValue(name: string, flags: Record<string, unknown>, environment: NodeJS.ProcessEnv): unknown {
  const value = flags[name] ?? environment[environmentName(name)];
  return value === "" ? undefined : value;
}

/** What the command line reads (`src/cli/help.ts`), often in the same shell. */
const ofCommandLine = ["URL", "KEY", "CONTEXT", "ACCESS_TOKEN"];

/** What is probably a misspelt setting: a sentence for each. */
export function misspelt(environment: NodeJS.ProcessEnv = process.env): string[] {
  const prefix = "MILLRACE_";
  const known = Object.keys(settings).map((name) => environmentName(name).slice(prefix.length));
  return Object.keys(environment).flatMap((name) => {
    const own = name.slice(prefix.length);
    const isKnown = known.includes(own) || ofCommandLine.includes(own);
    const [near] = !name.startsWith(prefix) || isKnown ? [] : nearMatches(own, known);
    return near === undefined ? [] : [`${name} is not a setting and is ignored; did you mean ${prefix}${near}?`];
  });
}

/** Flags override the environment; a flag without a value is true. Throws one error that lists every problem. */
export function loadConfig(flags: Record<string, unknown>, environment: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, unknown> = {};
  for (const name of Object.keys(settings)) {
    const value = givenValue(name, flags, environment);
    if (value !== undefined) given[name] = value === true ? "true" : value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(({ path: [name], message }) =>
    name === undefined
      ? `  ${message.replaceAll(/\b[a-z]+[A-Z]\w*/g, flagName)}`
      : `  ${flagName(String(name))} (${environmentName(String(name))}): ${message}`,
  );
  throw new Error(`the configuration is invalid:\n${problems.join("\n")}`);
}
