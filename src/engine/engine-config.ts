/**
 * The engine's configuration files. This is the wall between SQL and the machine: what the only engine user may do is
 * listed here, and everything that is not listed is refused by the engine itself.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type EngineLimits = {
  /** Everything the engine may allocate; queries fail above it, the process lives on. */
  readonly maxMemoryBytes: number;
  /** Where BACKUP and RESTORE may read and write; none when undefined. */
  readonly backupsAllowedPath?: string;
};

/** What SQL may do. Source access: object storage only. No user management, no server control, no files, no URLs. */
const grants = [
  "SHOW, SELECT, INSERT, ALTER, CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, CREATE FUNCTION",
  "CREATE TEMPORARY TABLE, CREATE ARBITRARY TEMPORARY TABLE, CREATE TEMPORARY VIEW",
  "DROP DATABASE, DROP TABLE, DROP VIEW, DROP DICTIONARY, DROP FUNCTION, UNDROP TABLE",
  "TRUNCATE, OPTIMIZE, CHECK, KILL QUERY, dictGet",
  "SYSTEM DROP CACHE, SYSTEM RELOAD DICTIONARY, SYSTEM MERGES, SYSTEM TTL MERGES, SYSTEM MOVES, SYSTEM VIEWS",
  "SYSTEM FLUSH, SYSTEM WAIT LOADING PARTS, SYSTEM LOAD PRIMARY KEY, SYSTEM UNLOAD PRIMARY KEY",
  "BACKUP",
  "S3, AZURE",
] as const;

/** The engine's own databases can be read, and that is all: without `system` nothing works any more. */
const ownDatabases = ["system", "information_schema", "INFORMATION_SCHEMA"];
const changes =
  "CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY, ALTER, INSERT, TRUNCATE, OPTIMIZE, DROP DATABASE, DROP TABLE, DROP VIEW, DROP DICTIONARY, UNDROP TABLE";

/** Settings that a statement may not touch: they choose another SQL parser, or name files and servers. */
const pinned: Readonly<Record<string, string>> = {
  dialect: "clickhouse",
  allow_introspection_functions: "0",
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
  // Settings that hold expressions or tables' structures as text, where no guard would see them.
  additional_table_filters: "{}",
  additional_result_filter: "",
  parallel_replicas_custom_key: "",
  schema_inference_hints: "",
  allow_experimental_eval_table_function: "0",
};

/** Writes the two files into `dir` and returns the path to hand to the engine. */
export function writeEngineConfig(dir: string, limits: EngineLimits): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const users = join(dir, "users.xml");
  const server = join(dir, "engine.xml");
  writeFileSync(users, usersXml(limits), { mode: 0o600 });
  writeFileSync(server, serverXml(dir, users, limits), { mode: 0o600 });
  return server;
}

function usersXml({ maxMemoryBytes }: EngineLimits): string {
  const perQuery = Math.floor(maxMemoryBytes * 0.8);
  const settings: Record<string, string> = {
    max_memory_usage: String(perQuery),
    max_bytes_before_external_group_by: String(Math.floor(perQuery / 2)),
    max_bytes_before_external_sort: String(Math.floor(perQuery / 2)),
    async_insert: "0",
    // Only the host turns expressions in VALUES on, for data that it has looked at (see guard.ts).
    input_format_values_interpret_expressions: "0",
    input_format_values_deduce_templates_of_expressions: "0",
    ...pinned,
  };
  const constraints = Object.keys(pinned).map((name) => `<${name}><const/></${name}>`);
  return [
    "<clickhouse><profiles><default>",
    ...Object.entries(settings).map(([name, value]) => `<${name}>${xml(value)}</${name}>`),
    `<constraints>${constraints.join("")}</constraints>`,
    "</default></profiles><users><default>",
    "<password></password><profile>default</profile><quota>default</quota><networks><ip>::/0</ip></networks>",
    "<grants>",
    ...grants.map((list) => `<query>GRANT ${list} ON *.*</query>`),
    ...ownDatabases.map((name) => `<query>REVOKE ${changes} ON ${name}.*</query>`),
    "</grants></default></users><quotas><default/></quotas></clickhouse>",
  ].join("\n");
}

function serverXml(dir: string, users: string, { maxMemoryBytes, backupsAllowedPath }: EngineLimits): string {
  const cache = String(Math.floor(maxMemoryBytes * 0.1));
  const settings: Record<string, string> = {
    max_server_memory_usage: String(maxMemoryBytes),
    mark_cache_size: cache,
    // Used by queries that ask for it, as charts do.
    uncompressed_cache_size: cache,
    primary_index_cache_size: cache,
    index_mark_cache_size: cache,
    users_config: users,
    // Nothing lives in these folders, and they are ours: a relative path in SQL leads nowhere.
    user_files_path: join(dir, "none/"),
    user_scripts_path: join(dir, "none/"),
    format_schema_path: join(dir, "none/"),
    dictionaries_lib_path: join(dir, "none/"),
    dynamic_user_defined_executable_functions_path: join(dir, "none/"),
    custom_local_disks_base_directory: join(dir, "none/"),
  };
  mkdirSync(join(dir, "none"), { recursive: true, mode: 0o700 });
  return [
    "<clickhouse>",
    ...Object.entries(settings).map(([name, value]) => `<${name}>${xml(value)}</${name}>`),
    ...(backupsAllowedPath === undefined
      ? []
      : [`<backups><allowed_path>${xml(backupsAllowedPath)}</allowed_path></backups>`]),
    "</clickhouse>",
  ].join("\n");
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
