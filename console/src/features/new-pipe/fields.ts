/** The inputs of each kind of source, by the path of their member. */
import type { SourceKind } from "./presets.ts";

export type FieldDefinition = {
  /** Member of the source, with dots. */
  readonly path: string;
  readonly label: string;
  readonly input?: "text" | "secret" | "number" | "switch" | "area" | "choice";
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: true;
  /** Shown only if this holds for the values of the form. */
  readonly when?: (values: Values) => boolean;
};

/** Texts by path; switches are `true` or nothing. */
export type Values = Readonly<Record<string, string>>;

const choice = (...values: readonly string[]) => values.map((value) => ({ value, label: value }));

/** The access key of AWS, shown if `isUsed` holds. */
const accessKey = (isUsed: (values: Values) => boolean): readonly FieldDefinition[] => [
  { path: "accessKey.accessKeyId", label: "Access key id", when: isUsed },
  { path: "accessKey.secretKey", label: "Secret key", input: "secret", when: isUsed },
];
const awsRole: FieldDefinition = {
  path: "iamRole",
  label: "ARN of the role",
  when: ({ authentication }) => authentication === "IAM_ROLE",
};
const awsAuthentications = [
  { value: "IAM_USER", label: "Access key" },
  { value: "IAM_ROLE", label: "AWS role" },
] as const;
const caCertificate: FieldDefinition = {
  path: "caCertificate",
  label: "CA certificate",
  input: "area",
  hint: "PEM; only for a CA that is not public",
};

const kafka: readonly FieldDefinition[] = [
  { path: "brokers", label: "Brokers", required: true, placeholder: "host:9092, host:9093" },
  {
    path: "authentication",
    label: "Authentication",
    input: "choice",
    options: [
      { value: "", label: "None" },
      ...choice("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
      { value: "IAM_ROLE", label: "AWS role" },
    ],
  },
  { path: "credentials.username", label: "User", when: ({ authentication }) => isLogin(authentication) },
  { path: "credentials.password", label: "Password", input: "secret", when: (v) => isLogin(v.authentication) },
  awsRole,
  caCertificate,
];

function isLogin(authentication: string | undefined): boolean {
  return authentication === "PLAIN" || authentication?.startsWith("SCRAM") === true;
}

const isAzure = ({ type }: Values) => type === "azureblobstorage";

const objects: readonly FieldDefinition[] = [
  {
    path: "url",
    label: "URL",
    placeholder: "https://bucket.s3.eu-west-1.amazonaws.com/events/**/*.json.gz",
    hint: "? stands for one character, * for any within a folder, ** for any",
    when: (values) => !isAzure(values),
  },
  { path: "connectionString", label: "Connection string", input: "secret", when: isAzure },
  { path: "azureContainerName", label: "Container", when: isAzure },
  { path: "path", label: "Path", placeholder: "events/**/*.parquet", when: isAzure },
  {
    path: "authentication",
    label: "Authentication",
    input: "choice",
    options: [{ value: "", label: "None: the objects are public" }, ...awsAuthentications],
    when: (values) => !isAzure(values),
  },
  ...accessKey(({ authentication }) => authentication === "IAM_USER"),
  awsRole,
];

const kinesis: readonly FieldDefinition[] = [
  { path: "region", label: "Region", required: true, placeholder: "eu-west-1" },
  { path: "endpoint", label: "Endpoint", hint: "Only for another endpoint than that of AWS" },
  {
    path: "authentication",
    label: "Authentication",
    input: "choice",
    options: awsAuthentications,
  },
  // Nothing chosen is the access key.
  ...accessKey(({ authentication }) => authentication !== "IAM_ROLE"),
  awsRole,
];

const postgres: readonly FieldDefinition[] = [
  { path: "host", label: "Host", required: true },
  { path: "port", label: "Port", input: "number", placeholder: "5432" },
  { path: "database", label: "Database", required: true },
  { path: "credentials.username", label: "User", required: true, hint: "With the right to replicate" },
  { path: "credentials.password", label: "Password", input: "secret" },
  { path: "disableTls", label: "Connect without TLS", input: "switch" },
  { path: "skipCertVerification", label: "Accept any certificate", input: "switch" },
  caCertificate,
];

/** What is needed to reach the source. */
export const connectionFields: Readonly<Record<SourceKind, readonly FieldDefinition[]>> = {
  messageBroker: kafka,
  objectStorage: objects,
  managedStream: kinesis,
  relationalDb: postgres,
};

const messageFormats = choice("JSONEachRow", "Avro", "AvroConfluent", "Protobuf");
const registry: FieldDefinition = {
  path: "schemaRegistry.url",
  label: "Schema registry",
  placeholder: "https://registry:8081",
  when: ({ format }) => format === "AvroConfluent" || format === "Protobuf",
};

/** What is read of the source, beside what its listing offers. */
export const dataFields: Readonly<Record<SourceKind, readonly FieldDefinition[]>> = {
  messageBroker: [
    { path: "format", label: "Format", input: "choice", options: messageFormats },
    registry,
    {
      path: "offset.strategy",
      label: "Begin",
      input: "choice",
      options: [
        { value: "from_beginning", label: "With the first message that is kept" },
        { value: "from_latest", label: "With messages that arrive from now on" },
        { value: "from_timestamp", label: "At a time" },
      ],
    },
    {
      path: "offset.timestamp",
      label: "Time, in UTC",
      placeholder: "2026-11-22T08:00",
      when: (values) => values["offset.strategy"] === "from_timestamp",
    },
  ],
  objectStorage: [
    {
      path: "format",
      label: "Format",
      input: "choice",
      options: choice(
        ...["JSONEachRow", "JSONAsObject", "CSV", "CSVWithNames", "TabSeparated"],
        ...["TabSeparatedWithNames", "Parquet", "Avro", "ORC", "Arrow"],
      ),
    },
    { path: "isContinuous", label: "Load new objects as they arrive", input: "switch" },
    {
      path: "compression",
      label: "Compression",
      input: "choice",
      options: [
        { value: "", label: "By the name of the object" },
        ...choice("none", "gzip", "zstd", "brotli", "xz", "bz2", "lz4"),
      ],
    },
  ],
  managedStream: [
    { path: "format", label: "Format", input: "choice", options: messageFormats },
    registry,
    {
      path: "iteratorType",
      label: "Begin",
      input: "choice",
      options: [
        { value: "TRIM_HORIZON", label: "With the first record that is kept" },
        { value: "LATEST", label: "With records that arrive from now on" },
      ],
    },
    { path: "useEnhancedFanOut", label: "Enhanced fan-out", input: "switch", hint: "Faster, and charged by AWS" },
  ],
  relationalDb: [
    {
      path: "settings.replicationMode",
      label: "Mode",
      input: "choice",
      options: [
        { value: "cdc", label: "Copy the tables, then follow their changes" },
        { value: "snapshot", label: "Copy the tables once" },
        { value: "cdc_only", label: "Only follow changes" },
      ],
    },
  ],
};

const secretPaths = /password|secretKey|connectionString/;

/** Values that must not be kept in a draft. */
export function isSecret(path: string): boolean {
  return secretPaths.test(path);
}
