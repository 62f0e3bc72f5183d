/**
 * The engine's users and their grants: the engine's own access control, as an allow-list. The engine refuses whatever
 * is not granted here. It reads this file once, at start.
 */
import { createHash } from "node:crypto";
import { type AccessRights, type Grant, type NamePattern, noRights } from "../../clickhouse/access-change.ts";
import { maxStatementBytes } from "../sql/rules/facts.ts";
import { element, xml } from "./xml.ts";

export type EngineUser = {
  readonly name: string;
  readonly readonly: boolean;
  /** Present for a user who has only what was granted. */
  readonly rights?: AccessRights;
};

export type EngineRole = { readonly name: string; readonly rights: AccessRights };

/** Who runs a statement, as the login knows it. */
export type StatementUser = { readonly user: string; readonly readonly: number; readonly restricted: boolean };

/** The user of the control plane, pipe workers, backups and charts. */
export const internalUser = "millrace-internal";
/** Stand-ins for users created after the engine's start, whose names it does not know. */
const writerUser = "millrace-writer";
export const readerUser = "millrace-reader";
/** Stand-in without any right, for a user whose grants the engine does not know yet. */
const strangerUser = "millrace-stranger";

/** Names that are valid XML element names and differ from those of our own users. */
const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The engine's user for an authenticated principal; `known` are the users that this engine was started with. */
export function engineUserOf(
  known: readonly EngineUser[],
  { user: name, readonly, restricted }: StatementUser,
): string {
  const same = known.find((user) => user.name === name && (user.rights !== undefined) === restricted);
  if (restricted) return same !== undefined && hasOwnName(name) ? name : strangerUser;
  const isReader = readonly > 0;
  return same?.readonly === isReader && hasOwnName(name) ? name : isReader ? readerUser : writerUser;
}

/** The same for a login at the engine's native port, where nobody can be `default`. */
export function sessionUserOf(known: readonly EngineUser[], principal: StatementUser): string {
  return engineUserOf(
    known.filter(({ name }) => name !== "default"),
    principal,
  );
}

function hasOwnName(name: string): boolean {
  return plainName.test(name) && !name.startsWith("millrace-");
}

/**
 * What the SQL of a full user may do. Source access is S3 only, because its client uses the proxy of outgoing
 * connections and the Azure client bypasses it. No user management, no files, no URLs.
 */
const writerGrants = [
  "SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, CREATE FUNCTION ON *.*",
  "SHOW DATABASES, SHOW TABLES, SHOW COLUMNS, SHOW DICTIONARIES ON *.*",
  "CREATE TEMPORARY TABLE, CREATE ARBITRARY TEMPORARY TABLE, CREATE TEMPORARY VIEW ON *.*",
  "DROP DATABASE, DROP TABLE, DROP VIEW, DROP DICTIONARY, DROP FUNCTION, UNDROP TABLE ON *.*",
  "TRUNCATE, OPTIMIZE, CHECK, dictGet ON *.*",
  "SYSTEM DROP CACHE, SYSTEM RELOAD DICTIONARY, SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM MOVES, SYSTEM VIEWS ON *.*",
  "SYSTEM FLUSH, SYSTEM WAIT LOADING PARTS, SYSTEM LOAD PRIMARY KEY, SYSTEM UNLOAD PRIMARY KEY ON *.*",
  "S3 ON *.*",
] as const;

/**
 * Engines of tables and databases that keep their data in the data directory or in object storage, and execute nothing.
 */
export const tableEngines: readonly string[] =
  `MergeTree ReplacingMergeTree SummingMergeTree AggregatingMergeTree CollapsingMergeTree
  VersionedCollapsingMergeTree CoalescingMergeTree GraphiteMergeTree Memory Null Set Join Log TinyLog StripeLog Buffer
  Merge View MaterializedView WindowView Alias Dictionary GenerateRandom TimeSeries S3 GCS COSN OSS
  Iceberg IcebergS3 DeltaLake DeltaLakeS3 Hudi Atomic`.split(/\s+/);

const readerGrants = [
  "SELECT, SHOW DATABASES, SHOW TABLES, SHOW COLUMNS, SHOW DICTIONARIES, dictGet ON *.*",
  "READ ON S3",
] as const;

/** The user `default` manages users and roles by statements, and reads them. */
const administratorGrants = "SHOW USERS, SHOW ROLES ON *.*";
/** The right of the local session, whose statement opens the engine's HTTP interface. */
const localGrants = "GRANT SYSTEM LISTEN ON *.*";

const allWriterGrants = [...writerGrants, ...tableEngines.map((name) => `TABLE ENGINE ON ${name}`)];

/** The engine's own databases are read-only: without `system` nothing works. */
const ownDatabases = ["system", "information_schema", "INFORMATION_SCHEMA"];
const changes =
  "CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, ALTER, INSERT, TRUNCATE, OPTIMIZE, DROP DATABASE, DROP TABLE, DROP VIEW, DROP DICTIONARY";

/** Tables of the internal user with data of one client, in a database without a folder. No other user reads them. */
export const asideTables = { database: "information_schema", prefix: "millrace-aside-" } as const;

/** Reading them starts a program, opens a file, stops threads or asks another server. */
const actingTables = ["models", "stack_trace", "jemalloc_profile_text", "zookeeper"];

/** Settings that a statement may not change: they select another SQL parser, or name files and servers. */
const pinned: Readonly<Record<string, string>> = {
  dialect: "clickhouse",
  allow_introspection_functions: "0",
  allow_get_client_http_header: "0",
  format_schema: "",
  format_schema_source: "file",
  output_format_schema: "",
  format_template_row: "",
  format_template_resultset: "",
  format_avro_schema_registry_url: "",
  input_format_record_errors_file_path: "",
  rename_files_after_processing: "",
  filesystem_cache_name: "",
  url_base: "",
  ai_function_text_default_credentials: "",
  ai_function_embedding_default_credentials: "",
  // Settings that hold expressions or structures as text, which no guard would inspect.
  additional_result_filter: "",
  parallel_replicas_custom_key: "",
  schema_inference_hints: "",
  allow_experimental_eval_table_function: "0",
  s3_max_redirects: "0",
  // Makes statements out of those of all users, and runs them.
  ast_fuzzer_runs: "0",
};

/** A much larger number overflows. */
const lockMs = "100000000000";

/** Free bytes of the disk that inserts and temporary data must leave. */
const diskSettings = ["min_free_disk_bytes_to_perform_insert", "min_free_disk_space_for_temporary_data"] as const;

export type UsersOptions = {
  readonly users: readonly EngineUser[];
  readonly roles: readonly EngineRole[];
  /** The key that the internal user and the query service send; it is known to nobody else. */
  readonly key: string;
  /** Memory limit of one query, in bytes. */
  readonly maxQueryBytes: number;
  /** Free bytes of the disk below which inserts and temporary data are refused. */
  readonly minFreeDiskBytes: number;
};

/** The text of `users.xml`. */
export function usersXml({ users, roles, key, maxQueryBytes, minFreeDiskBytes }: UsersOptions): string {
  const base = baseSettings(maxQueryBytes, minFreeDiskBytes);
  const own = users.filter(({ name }) => hasOwnName(name) && name !== "default");
  const isReader = users.find(({ name }) => name === "default")?.readonly === true;
  return element("clickhouse", [
    element("profiles", [
      // The first profile is the base of all users: its constraints hold whatever a session chooses.
      element("default", [...settings(clientSettings(base)), constraints(base)]),
      element("readonly", [...settings({ ...clientSettings(base), readonly: "2" }), constraints(base)]),
      element("internal", settings(base)),
      // The engine's own session is `default` without a password. The native port has no key before the login, so
      // that every program of this machine can log in there as `default`: its first query waits for three years.
      ...["default", "readonly"].map((name) =>
        element(`${name}-locked`, [
          element("profile", [name]),
          ...settings({ sleep_after_receiving_query_ms: lockMs }),
        ]),
      ),
    ]),
    element("users", [
      user({ name: internalUser, profile: "internal" }, key),
      // The engine's local session is `default` and has no password. A network connection needs the key.
      user({
        ...{
          name: "default",
          profile: isReader ? "readonly-locked" : "default-locked",
          sees: isReader ? "own" : "clients",
        },
        grants: [...grantsOf(isReader ? readerGrants : [...allWriterGrants, administratorGrants]), localGrants],
      }),
      ...[...own, { name: writerUser, readonly: false }, { name: readerUser, readonly: true }]
        .concat({ name: strangerUser, readonly: false, rights: noRights })
        .map((one) => user(clientOf(one), key)),
    ]),
    element(
      "roles",
      roles.map(({ name, rights }) => element(name, [grantsElement(restrictedGrants(rights))])),
    ),
    element("quotas", [element("default", [])]),
  ]);
}

type FileUser = {
  readonly name: string;
  readonly profile: "default" | "readonly" | "default-locked" | "readonly-locked" | "internal";
  /** Undefined: all rights. */
  readonly grants?: readonly string[];
  /** Whose queries and grants it sees: its own, or those of all clients; undefined: those of this program too. */
  readonly sees?: "own" | "clients";
};

function clientOf({ name, readonly, rights }: EngineUser): FileUser {
  if (rights !== undefined) return { name, profile: "default", grants: restrictedGrants(rights), sees: "own" };
  if (readonly) return { name, profile: "readonly", grants: grantsOf(readerGrants), sees: "own" };
  return { name, profile: "default", grants: grantsOf(allWriterGrants), sees: "clients" };
}

/** Without a key the user has no password. */
function user({ name, profile, grants, sees }: FileUser, key?: string): string {
  return element(name, [
    // The digest of the key, and not of the user's password, which the login has checked.
    key === undefined ? "<no_password/>" : element("password_sha256_hex", [sha256(key)]),
    // All users have the profile `default`: naming it would show it in SHOW CREATE USER.
    ...(profile === "default" ? [] : [element("profile", [profile])]),
    element("quota", ["default"]),
    // The engine listens on loopback only, and takes a sealed query for one from the client's address.
    element("networks", [element("ip", ["::/0"])]),
    ...(sees === undefined ? [] : [visibleRows(name, sees)]),
    ...(grants === undefined ? [] : [grantsElement(grants)]),
  ]);
}

function grantsOf(lists: readonly string[]): string[] {
  return withoutOwnDatabases(lists.map((list) => `GRANT ${list}`));
}

function restrictedGrants(rights: AccessRights): string[] {
  return withoutOwnDatabases(grantStatements(rights));
}

function withoutOwnDatabases(statements: readonly string[]): string[] {
  return [
    ...statements,
    ...ownDatabases.map((database) => `REVOKE ${changes} ON ${database}.*`),
    ...actingTables.map((table) => `REVOKE SELECT ON system.${table}`),
    `REVOKE SELECT ON ${asideTables.database}.\`${asideTables.prefix}\`*`,
  ];
}

function grantsElement(statements: readonly string[]): string {
  return element(
    "grants",
    statements.map((query) => element("query", [xml(query)])),
  );
}

/** Tables with texts, values and addresses of everybody's statements, which do not say whose they are. */
const withoutUser: Readonly<Record<string, string>> = {
  errors: "0",
  asynchronous_inserts: "0",
  schema_inference_cache: "0",
};

/** The column with the user, by table of `system`; null: no row is shown, because Millrace has made all of them. */
export const hiddenRows: Readonly<Record<string, string | null>> = {
  processes: "user",
  query_log: "user",
  users: "name",
  grants: "user_name",
  role_grants: "user_name",
  user_processes: "user",
  settings_profile_elements: null,
  clusters: null,
};

/** Hides queries, users and grants: those of other clients from some users, and our own from all. */
function visibleRows(name: string, sees: "own" | "clients"): string {
  const filterOf = (table: string, column: string | null) => {
    if (column === null) return "0";
    if (sees === "own") return `${column} = '${name}'`;
    if (table === "processes" || table === "query_log") return `user NOT IN ('', '${internalUser}')`;
    return `NOT startsWith(ifNull(${column}, ''), 'millrace-')`;
  };
  const filters = {
    ...Object.fromEntries(Object.entries(hiddenRows).map(([table, column]) => [table, filterOf(table, column)])),
    ...(sees === "own" ? withoutUser : {}),
  };
  const tables = Object.entries(filters).map(([table, filter]) => element(table, [element("filter", [xml(filter)])]));
  return element("databases", [element("system", tables)]);
}

function baseSettings(maxQueryBytes: number, minFreeDiskBytes: number): Record<string, string> {
  const half = String(Math.floor(maxQueryBytes / 2));
  return {
    max_memory_usage: String(maxQueryBytes),
    max_bytes_before_external_group_by: half,
    max_bytes_before_external_sort: half,
    async_insert: "0",
    implicit_select: "0",
    ...Object.fromEntries(diskSettings.map((name) => [name, String(minFreeDiskBytes)])),
  };
}

function clientSettings(base: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...base,
    // The query service enables expressions in VALUES for data that it has judged.
    input_format_values_interpret_expressions: "0",
    input_format_values_deduce_templates_of_expressions: "0",
    cancel_http_readonly_queries_on_client_close: "1",
    // A store that does not answer causes an error within seconds, not minutes.
    s3_retry_attempts: "3",
    http_max_tries: "3",
    ...pinned,
  };
}

function constraints(base: Readonly<Record<string, string>>): string {
  return element("constraints", [
    ...Object.keys(pinned).map((name) => element(name, ["<const/>"])),
    // A smaller value makes the engine parse only the beginning of a text, which is not what was judged.
    element("max_query_size", [element("min", [String(maxStatementBytes)])]),
    ...diskSettings.map((name) => element(name, [element("min", [base[name] as string])])),
  ]);
}

function settings(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => element(name, [xml(value)]));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** GRANT and REVOKE statements in the order in which the engine must apply them. */
function grantStatements({ grants, roles }: AccessRights): string[] {
  const granted = grants.map(statementOf);
  return roles.length === 0 ? granted : [...granted, `GRANT ${roles.map(quoted).join(", ")}`];
}

function statementOf({ privilege, columns, database, table, object, revoked }: Grant): string {
  const what = columns === undefined ? privilege : `${privilege}(${columns.map(quoted).join(", ")})`;
  const on = object === undefined ? `${patternOf(database)}.${patternOf(table)}` : quoted(object);
  return `${revoked === true ? "REVOKE" : "GRANT"} ${what} ON ${on}`;
}

function patternOf(pattern: NamePattern | undefined): string {
  if (pattern === undefined) return "*";
  return pattern.prefix === true ? `${quoted(pattern.name)}*` : quoted(pattern.name);
}

function quoted(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}
