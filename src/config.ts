/**
 * The server's settings: one value, read once from flags and environment. `--help` and `docs/configuration.md` derive
 * from the descriptions here. The only reader of `process.env`.
 */
import { z } from "zod";
import { parsePortRange } from "./lib/port-range.ts";
import { parseReach } from "./outgoing/policy.ts";
import type { OrganizationLimits } from "./store/limits.ts";

const positive = z.coerce.number().int().positive();

const reach = z
  .string()
  .superRefine((text, context) => {
    const message = problemOf(() => parseReach(text));
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .optional();

export const settings = {
  dataDir: z.string().min(1).default("data").describe("Directory of metadata, databases and credentials"),
  host: z.string().min(1).default("127.0.0.1").describe("Address that the API and the service endpoints listen on"),
  port: z.coerce.number().int().min(0).max(65_535).default(8150).describe("Port of the API; 0 picks a free one"),
  servicePorts: z
    .string()
    .superRefine((text, context) => {
      const message = problemOf(() => parsePortRange(text));
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .default("21000-21999")
    .describe("Ports of services that name none, outside of the range that systems use for outgoing connections"),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("URL of the API as clients see it behind a proxy; its scheme and host name are shown in endpoints too"),
  publicHost: z
    .string()
    .min(1)
    .optional()
    .describe("Host name shown in service endpoints and URLs; default: that of publicUrl, else host"),
  tlsCert: z.string().min(1).optional().describe("PEM certificate file; with tlsKey everything is served as https"),
  tlsKey: z.string().min(1).optional().describe("PEM private key file"),
  secretKey: z
    .base64()
    .optional()
    .describe(
      "32 bytes in base64 that seal stored secrets, by environment: flags show in `ps`; default: a key file of mode 0600 in dataDir",
    ),
  logLevel: z.enum(["debug", "info", "warn", "error", "silent"]).default("info").describe("Least level that is logged"),
  bodyLimitBytes: positive.default(1_048_576).describe("Largest request body of the API"),
  rateLimit: positive.default(200_000).describe("Requests per window and key or token"),
  rateWindowSeconds: positive.default(10).describe("Length of the rate window"),
  loginFailureLimit: positive.default(60).describe("Failed logins per minute and address before 429"),
  metricsToken: z
    .string()
    .regex(/^[\x21-\x7e]{16,512}$/, { error: "must be 16 to 512 characters without spaces" })
    .optional()
    .describe(
      "Bearer token of `/metrics`, by environment: flags show in `ps`; default: metrics for this machine only, without one",
    ),
  engineSessions: positive
    .default(1_000)
    .describe("Queries that one service runs at the same time; more are refused with TOO_MANY_SIMULTANEOUS_QUERIES"),
  minFreeDiskGb: z.coerce
    .number()
    .min(0)
    .default(1)
    .describe("Free space of the disk, in GiB, below which services refuse inserts; metadata goes on"),
  serviceDiskGb: positive
    .optional()
    .describe("Quota of disk of new services that name no `diskGb`, in GiB; default: none"),
  chartTimeoutSeconds: positive.default(30).describe("Longest time of one chart query"),
  chartMemoryMb: positive.default(2048).describe("Most memory of one chart query, in MiB"),
  chartMaxRowsRead: positive.default(10_000_000_000).describe("Most rows that one chart query may read"),
  chartsPerToken: positive.default(8).describe("Charts of one token that run at the same time; others wait"),
  backupDir: z.string().min(1).optional().describe("Directory of backups, default: `backups` in dataDir"),
  backupBucket: z
    .string()
    .regex(/^s3:\/\/[^/]+(\/.*)?$/, { error: "must look like s3://bucket/prefix" })
    .optional()
    .describe("S3-compatible bucket of backups, as s3://bucket/prefix; used instead of backupDir"),
  backupBucketEndpoint: z.url().optional().describe("Address of the bucket's server where it is not AWS"),
  backupBucketRegion: z.string().min(1).default("us-east-1").describe("Region of the bucket"),
  backupAccessKeyId: z.string().min(1).optional().describe("Key of the bucket; default: the AWS credential chain"),
  backupSecretAccessKey: z.string().min(1).optional().describe("Secret of the bucket's key"),
  backupIamRoleArn: z.string().default("").describe("Role that the credential chain assumes, shown in backup records"),
  backupIamRoleSessionName: z.string().default("").describe("Session name of that role, shown in backup records"),
  backupEncryptionKey: z.base64().optional().describe("32 bytes in base64 that encrypt backups before they are stored"),
  backupChainLength: positive.default(7).describe("Backups in a chain: one full and the increments upon it"),
  backupCheckHours: z.coerce
    .number()
    .int()
    .min(0)
    .default(168)
    .describe("Hours after which stored backups are read again and the newest is restored for a trial; 0: never"),
  backupHourMs: positive.default(3_600_000).describe("Length of an hour of backup periods; shortened in tests"),
  pipeSourceNetworks: reach.describe(
    "What pipes may connect to: a list of networks (10.0.0.0/8), addresses and the words public, private, loopback, any, none; default: any if host is a loopback address, else public",
  ),
  sqlNetworks: reach.describe(
    "What object storage functions of SQL may connect to, in the same form; default: as for pipes",
  ),
  servicesPerOrganization: positive.default(200).describe("Services of one organization"),
  memoryGbPerOrganization: positive
    .default(4096)
    .describe("Sum of the largest memory of one organization's services, in GB"),
  usersPerService: positive.default(500).describe("Users of one service"),
  pipesPerOrganization: positive.default(500).describe("Pipes of one organization"),
  replicasPerPipe: positive.default(20).describe("Workers of one pipe, each a process"),
  chartSourcesPerOrganization: positive.default(2000).describe("Sources of charts of one organization"),
  keysPerOrganization: positive.default(200).describe("API keys of one organization, and as many access tokens"),
  pipeChecksPerOrganization: positive
    .default(8)
    .describe("Checks of new or changed pipes, and schema discoveries, of one organization at the same time"),
  pipeSourceOutageSeconds: positive
    .default(900)
    .describe("A pipe whose source does not answer for this long is Failed"),
  pipeSourceSilenceSeconds: positive
    .default(30)
    .describe("A connection to a source that has brought nothing for this long is taken for broken, and made anew"),
  pipeDestinationOutageSeconds: positive
    .default(3_600)
    .describe("A pipe whose destination refuses inserts for this long is Failed"),
  requireConfinement: z
    .stringbool()
    .default(false)
    .describe("Refuse to start where the kernel cannot confine engines and pipe workers"),
  idleMinuteMs: positive.default(60_000).describe("Length of a minute of idleTimeoutMinutes; shortened in tests"),
};

const schema = z
  .object(settings)
  .refine((value) => (value.tlsCert === undefined) === (value.tlsKey === undefined), {
    error: "tlsCert and tlsKey belong together",
  })
  .refine((value) => (value.backupAccessKeyId === undefined) === (value.backupSecretAccessKey === undefined), {
    error: "backupAccessKeyId and backupSecretAccessKey belong together",
  })
  .refine((value) => value.backupDir === undefined || value.backupBucket === undefined, {
    error: "backupDir and backupBucket exclude each other",
  })
  .refine((value) => is32Bytes(value.backupEncryptionKey), { error: "backupEncryptionKey must be 32 bytes in base64" });

/** The error of a text that cannot be parsed; undefined when it can. */
function problemOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

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
    keys: limit("keysPerOrganization"),
  };
}

/** Flags override the environment; a flag without a value is true. Throws one error that lists every problem. */
export function loadConfig(flags: Record<string, unknown>, environment: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, unknown> = {};
  for (const name of Object.keys(settings)) {
    const value = flags[name] ?? environment[environmentName(name)];
    if (value !== undefined && value !== "") given[name] = value === true ? "true" : value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join(".") || "settings"}: ${issue.message}`);
  throw new Error(`the configuration is not valid:\n${problems.join("\n")}`);
}
