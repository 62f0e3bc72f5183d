/** The flags of the kinds of sources: which member of the source each flag sets. */
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import { integerFlag, pairFlag, repeated } from "../flags.ts";
import type { Shell } from "../shell.ts";
import type { KindWord } from "./pipe-view.ts";

type Kind = "text" | "integer" | "flag" | "file" | "secret" | "table";

type SourceFlag = {
  readonly flag: string;
  /** Member of the source, with dots. */
  readonly path: string;
  readonly kind: Kind;
  readonly help: string;
};

const text = (flag: string, path: string, help: string): SourceFlag => ({ flag, path, kind: "text", help });
const secret = (flag: string, path: string, help: string): SourceFlag => ({
  flag,
  path,
  kind: "secret",
  help: `File with ${help}; - reads stdin`,
});
const toggle = (flag: string, path: string, help: string): SourceFlag => ({ flag, path, kind: "flag", help });

const format = text("--format <format>", "format", "Format of the data");
const role = text("--iam-role <arn>", "iamRole", "AWS role to assume");
const authentication = text("--auth <method>", "authentication", "Authentication; see docs of the kind");
const awsKey = [
  text("--access-key-id <id>", "accessKey.accessKeyId", "Id of an access key"),
  secret("--secret-key-file <file>", "accessKey.secretKey", "the secret of the access key"),
];
const ca: SourceFlag = {
  flag: "--ca-file <file>",
  path: "caCertificate",
  kind: "file",
  help: "PEM certificate of the CA",
};
const registry = text("--registry <url>", "schemaRegistry.url", "Confluent-compatible schema registry");

/** By word of the command line. `--set` reaches the other members. */
export const sourceFlags: Readonly<Record<KindWord, readonly SourceFlag[]>> = {
  objects: [
    text("--from <url>", "url", "Bucket URL with ?, * and ** in the path"),
    format,
    text("--type <type>", "type", "s3, gcs, azureblobstorage, cloudflarer2, dospaces or ovhobjectstorage"),
    toggle("--follow", "isContinuous", "Loads new objects as they arrive"),
    text("--compression <name>", "compression", "Default: by the suffix of the object"),
    text("--delimiter <character>", "delimiter", "ShownField separator of CSV"),
    ...awsKey,
    role,
    authentication,
    secret("--connection-string-file <file>", "connectionString", "the connection string of Azure"),
    text("--container <name>", "azureContainerName", "Container of Azure"),
    text("--path <path>", "path", "Path in the container of Azure"),
    text("--queue-url <url>", "queueUrl", "Queue with notifications of new objects"),
    toggle("--skip-initial-load", "skipInitialLoad", "With --queue-url: only new objects"),
    text("--start-after <key>", "startAfter", "Only objects after this key"),
  ],
  kafka: [
    text("--brokers <list>", "brokers", "host:port, separated by commas"),
    text("--topics <list>", "topics", "Topics, separated by commas"),
    format,
    text("--type <type>", "type", "kafka, redpanda, msk, confluent, warpstream, azureeventhub ..."),
    text("--group <name>", "consumerGroup", "Consumer group; default millrace-<pipe id>"),
    text("--offset <strategy>", "offset.strategy", "from_beginning, from_latest or from_timestamp"),
    text("--offset-time <time>", "offset.timestamp", "Time of from_timestamp, in UTC"),
    authentication,
    text("--username <name>", "credentials.username", "User of the broker"),
    secret("--password-file <file>", "credentials.password", "the password of the user"),
    role,
    ca,
    registry,
  ],
  kinesis: [
    text("--stream <name>", "streamName", "Name of the stream"),
    text("--region <id>", "region", "AWS region"),
    format,
    text("--start <position>", "iteratorType", "TRIM_HORIZON, LATEST or AT_TIMESTAMP"),
    { flag: "--start-time <seconds>", path: "timestamp", kind: "integer", help: "Start of AT_TIMESTAMP, UNIX seconds" },
    toggle("--fan-out", "useEnhancedFanOut", "Reads by enhanced fan-out"),
    text("--compression <name>", "compression", "none or gzip"),
    ...awsKey,
    role,
    authentication,
    text("--endpoint <url>", "endpoint", "Endpoint other than that of AWS"),
    registry,
  ],
  postgres: [
    text("--host <name>", "host", "Host of the server"),
    { flag: "--port <port>", path: "port", kind: "integer", help: "Port; default 5432" },
    text("--database <name>", "database", "Database of the source"),
    text("--username <name>", "credentials.username", "User with the right to replicate"),
    secret("--password-file <file>", "credentials.password", "the password of the user"),
    {
      flag: "--table <schema.table[=target]>",
      path: "tableMappings",
      kind: "table",
      help: "Table to copy, and its name in the service; may be repeated",
    },
    text("--mode <mode>", "settings.replicationMode", "cdc, snapshot or cdc_only"),
    text("--publication <name>", "settings.publicationName", "Existing publication"),
    text("--slot <name>", "settings.replicationSlotName", "Existing slot, with --mode cdc_only"),
    text("--type <type>", "type", "postgres, supabase, neon, rdspostgres ..."),
    text("--tls-host <name>", "tlsHost", "Name in the certificate of the server"),
    ca,
    toggle("--no-tls", "disableTls", "Connects without TLS"),
    toggle("--skip-cert-verification", "skipCertVerification", "Accepts any certificate"),
  ],
};

/** Adds the flags of a kind. */
export function addSourceFlags(command: Command, kind: KindWord): Command {
  for (const { flag, help, kind: type } of sourceFlags[kind]) {
    if (type === "table") command.option(flag, help, repeated);
    else command.option(flag, help);
  }
  return command.option("--set <path=value>", "Any other member of the source; may be repeated", repeated);
}

/** The source of the flags. Secrets are read from files, or from `${env:X}` in `--set`. */
export async function sourceFromFlags(
  shell: Shell,
  kind: KindWord,
  flags: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const source: Record<string, unknown> = {};
  for (const entry of sourceFlags[kind]) {
    const given = flags[attributeOf(entry.flag)];
    // `--no-tls` is the attribute `tls`, which is true unless the flag is there.
    const value = entry.flag === "--no-tls" ? (given === false ? true : undefined) : given;
    if (value !== undefined) setMember(source, entry.path, await flagValue(shell, entry, value));
  }
  for (const pair of (flags.set ?? []) as readonly string[]) {
    const [path, value] = pairFlag("--set", pair);
    setMember(source, path, await settingValue(shell, path, value));
  }
  return source;
}

/** `--secret-key-file <file>` -> `secretKeyFile`, as the parser names it. */
function attributeOf(flag: string): string {
  const name = (flag.split(" ")[0] as string).replace(/^--(no-)?/, "");
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

async function flagValue(shell: Shell, { kind, flag }: SourceFlag, value: unknown): Promise<unknown> {
  if (kind === "integer") return integerFlag(flag.split(" ")[0] as string, String(value));
  if (kind === "file") return await shell.read(String(value));
  if (kind === "secret") return await shell.secret(String(value));
  if (kind === "table") return (value as readonly string[]).map((given) => tableMappingOf("--table", given));
  return value;
}

type TableMapping = Readonly<Record<"sourceSchemaName" | "sourceTable" | "targetTable", string>>;

/** Throws a usage error that names the flag. */
export function tableMappingOf(flag: string, given: string): TableMapping {
  const [, schema, table, target] = /^([^.=]+)\.([^=]+?)(?:=(.+))?$/.exec(given) ?? [];
  if (schema === undefined || table === undefined) {
    throw usageError(`${flag} ${given}: must be schema.table or schema.table=target`);
  }
  return { sourceSchemaName: schema, sourceTable: table, targetTable: target ?? table };
}

const secretNames = /(?:^|\.)(?:password|secretKey|privateKey|connectionString)$/;

async function settingValue(shell: Shell, path: string, value: string): Promise<unknown> {
  const name = /^\$\{env:(\w+)\}$/.exec(value)?.[1];
  const file = /^\$\{file:(.+)\}$/.exec(value)?.[1];
  if (file !== undefined) return await shell.secret(file);
  if (name !== undefined) {
    const found = shell.io.env[name];
    if (found === undefined) throw usageError(`--set ${path}: the environment has no ${name}`);
    return found;
  }
  if (secretNames.test(path)) {
    throw usageError(
      `--set ${path}: other users see the flags of a command`,
      `--set '${path}=\${env:NAME}' or \${file:PATH}`,
    );
  }
  const { parse } = await import("yaml");
  return parse(value);
}

function setMember(target: Record<string, unknown>, path: string, value: unknown): void {
  const [name, ...rest] = path.split(".") as [string, ...string[]];
  if (rest.length === 0) target[name] = value;
  else {
    const inner = (target[name] ?? {}) as Record<string, unknown>;
    setMember(inner, rest.join("."), value);
    target[name] = inner;
  }
}
