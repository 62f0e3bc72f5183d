/** Inputs of a source: one declaration for the flags of the command line and the console's form. */

/** Holds for the values of members, by dotted path. An empty text is not set. */
export type Condition = { readonly path: string } & (
  | { readonly is: readonly string[] }
  | { readonly not: readonly string[] }
  | { readonly isSet: boolean }
);

export type SourceField = {
  /** Member of the source, with dots. */
  readonly path: string;
  readonly label: string;
  /** Default: text. An `area` is a text of several lines, which a flag reads from a file. */
  readonly input?: "text" | "secret" | "number" | "switch" | "area" | "choice" | "tables";
  /** A secret of several lines, such as a key in PEM. */
  readonly isLong?: true;
  /** Flag of the command line with its help; `--set` reaches a member without one. */
  readonly flag?: readonly [flag: string, help: string];
  /** Step of the console's form that asks for it. */
  readonly step?: "connection" | "data";
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** The value with which the form begins. */
  readonly first?: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: true;
  /** The form asks for it only if all of them hold. */
  readonly when?: readonly Condition[];
};

export function holds(conditions: readonly Condition[] = [], valueAt: (path: string) => unknown): boolean {
  return conditions.every((condition) => {
    const found = valueAt(condition.path);
    const value = found == null ? "" : String(found);
    if ("is" in condition) return condition.is.includes(value);
    return "not" in condition ? !condition.not.includes(value) : (value !== "") === condition.isSet;
  });
}

/** The member of a configuration at a dotted path. */
export function memberAt(config: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = config;
  for (const name of path.split(".")) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return value;
}

/** True for a member that must not be shown: all below a secret path, but what has a field of its own, like a user. */
export function isSecretMember(
  { secrets, fields }: { readonly secrets: readonly string[]; readonly fields: readonly SourceField[] },
  path: string,
): boolean {
  const isBelow = secrets.some((secret) => path === secret || path.startsWith(`${secret}.`));
  return isBelow && fields.every((field) => field.path !== path || field.input === "secret");
}

/** Options that are shown as they are. */
export function choices(...values: readonly string[]): { readonly value: string; readonly label: string }[] {
  return values.map((value) => ({ value, label: value }));
}

/** The fields of an access key of AWS. */
export function accessKeyFields(when: readonly Condition[]): readonly SourceField[] {
  return [
    {
      path: "accessKey.accessKeyId",
      label: "Access key id",
      flag: ["--access-key-id <id>", "Id of an access key"],
      step: "connection",
      when,
    },
    {
      path: "accessKey.secretKey",
      label: "Secret key",
      input: "secret",
      flag: ["--secret-key-file <file>", "the secret of the access key"],
      step: "connection",
      when,
    },
  ];
}

export const awsRole: SourceField = {
  path: "iamRole",
  label: "ARN of the role",
  flag: ["--iam-role <arn>", "AWS role to assume"],
  step: "connection",
  when: [{ path: "authentication", is: ["IAM_ROLE"] }],
};

export const awsAuthentications = [
  { value: "IAM_USER", label: "Access key" },
  { value: "IAM_ROLE", label: "AWS role" },
] as const;

/** The choice of a way to sign in. */
export const authentication = {
  path: "authentication",
  label: "Authentication",
  input: "choice",
  flag: ["--auth <method>", "Authentication; see docs of the kind"],
  step: "connection",
} as const;

export const caCertificate: SourceField = {
  path: "caCertificate",
  label: "CA certificate",
  input: "area",
  flag: ["--ca-file <file>", "PEM certificate of the CA"],
  step: "connection",
  hint: "PEM; only for a CA that is not public",
};

/** Format of messages, and the registry with their schemas. */
export const messageFields: readonly SourceField[] = [
  {
    path: "format",
    label: "Format",
    input: "choice",
    flag: ["--format <format>", "Format of the data"],
    step: "data",
    first: "JSONEachRow",
    options: choices("JSONEachRow", "Avro", "AvroConfluent", "Protobuf"),
  },
  {
    path: "schemaRegistry.url",
    label: "Schema registry",
    flag: ["--registry <url>", "Confluent-compatible schema registry"],
    step: "data",
    placeholder: "https://registry:8081",
    when: [{ path: "format", is: ["AvroConfluent", "Protobuf"] }],
  },
  { path: "schemaRegistry.credentials.username", label: "User of the registry" },
  { path: "schemaRegistry.credentials.password", label: "Password of the registry", input: "secret" },
];

/** The login to a schema registry. */
export const registryLogin = {
  when: [{ path: "schemaRegistry.authentication", isSet: true }],
  members: ["schemaRegistry.credentials.username", "schemaRegistry.credentials.password"],
} as const;

export const messageGuarantee =
  "Every message is written exactly once, also when a process, the service or the source is killed. Rows that do not fit are kept apart with their reason, and can be replayed.";
