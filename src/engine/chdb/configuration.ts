/**
 * The engine's server configuration: limits, paths, and the key that every request to its HTTP interface must carry.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EngineRole, type EngineUser, usersXml } from "./users.ts";
import { element, xml } from "./xml.ts";

export type EngineConfiguration = {
  readonly dataDir: string;
  /** Loopback address and port of the engine's HTTP interface. */
  readonly host: string;
  readonly port: number;
  /** A request without this key in `X-ClickHouse-Key` is answered with 404. */
  readonly key: string;
  /** Loopback port of the native protocol, and the secret that every Query packet there proves to know. */
  readonly native: { readonly port: number; readonly secret: string };
  readonly users: readonly EngineUser[];
  readonly roles: readonly EngineRole[];
  /** Limit of everything that the engine allocates; queries above it fail and the process continues. */
  readonly maxMemoryBytes: number;
  /** Free bytes of the disk below which inserts and temporary data are refused. */
  readonly minFreeDiskBytes: number;
  /** Maximum number of concurrent queries. */
  readonly maxQueries: number;
  readonly displayName: string;
  /** HTTP proxy for every outgoing connection of the engine; when undefined, the engine reaches no network. */
  readonly proxyUrl?: string | undefined;
  /** False: parts stay as they are inserted, so that a reader finds each of them again. */
  readonly merges?: boolean | undefined;
  /** Folder in which BACKUP and RESTORE may read and write; undefined disables both. */
  readonly backupsAllowedPath?: string | undefined;
};

/** Share of the engine's memory that one query may use. */
const queryShare = 0.8;
/** Size of each cache, as a share of the engine's memory. */
const cacheShare = 0.1;
/** Temporary data on disk, as a multiple of the engine's memory. */
const temporaryFactor = 4;
const queryLogDays = 7;
/** The name under which a connection of the native protocol shows its seals. */
export const sealedClusterName = "millrace";

/** Where the engine keeps user-defined functions. */
function functionsDir(dataDir: string): string {
  return join(dataDir, "user_defined/");
}

/** True when this data directory holds user-defined functions. */
export function hasUserFunctions(dataDir: string): boolean {
  const dir = functionsDir(dataDir);
  return existsSync(dir) && readdirSync(dir).length > 0;
}

/** An empty folder: whatever is named by a relative path in SQL is not there. */
export function noFilesDir(dir: string): string {
  return join(dir, "none");
}

/** Both files hold the key, so they are deleted once the server has read them: see `connectServer`. */
export type ConfigurationFiles = { readonly server: string; readonly users: string };

/** Writes the configuration into `dir`. */
export function writeConfiguration(dir: string, configuration: EngineConfiguration): ConfigurationFiles {
  mkdirSync(noFilesDir(dir), { recursive: true, mode: 0o700 });
  const users = join(dir, "users.xml");
  const server = join(dir, "engine.xml");
  const { key, maxMemoryBytes, minFreeDiskBytes } = configuration;
  const maxQueryBytes = Math.floor(maxMemoryBytes * queryShare);
  const access = { users: configuration.users, roles: configuration.roles };
  writeFileSync(users, usersXml({ ...access, key, maxQueryBytes, minFreeDiskBytes }), { mode: 0o600 });
  writeFileSync(server, serverXml(dir, users, configuration), { mode: 0o600 });
  return { server, users };
}

function serverXml(dir: string, users: string, options: EngineConfiguration): string {
  const { host, port, key, maxMemoryBytes, maxQueries, displayName, backupsAllowedPath } = options;
  const cache = String(Math.floor(maxMemoryBytes * cacheShare));
  const none = join(noFilesDir(dir), "/");
  const settings: Record<string, string> = {
    users_config: users,
    listen_host: host,
    http_port: String(port),
    tcp_port: String(options.native.port),
    display_name: displayName,
    max_concurrent_queries: String(maxQueries),
    max_server_memory_usage: String(maxMemoryBytes),
    max_temporary_data_on_disk_size: String(maxMemoryBytes * temporaryFactor),
    mark_cache_size: cache,
    // Used only by queries that ask for it, as charts do.
    uncompressed_cache_size: cache,
    primary_index_cache_size: cache,
    index_mark_cache_size: cache,
    user_defined_path: functionsDir(options.dataDir),
    user_files_path: none,
    user_scripts_path: none,
    format_schema_path: none,
    dictionaries_lib_path: none,
    dynamic_user_defined_executable_functions_path: none,
    custom_local_disks_base_directory: none,
  };
  return element("clickhouse", [
    ...Object.entries(settings).map(([name, value]) => element(name, [xml(value)])),
    httpHandlers(key),
    sealedCluster(options.native),
    queryLog(),
    ...(options.proxyUrl === undefined ? [] : [proxy(options.proxyUrl)]),
    // The credentials of this machine belong to the operator and are never used for a user's query.
    "<s3><use_environment_credentials>false</use_environment_credentials></s3>",
    ...(options.merges === false ? [withoutMerges()] : []),
    ...(backupsAllowedPath === undefined
      ? []
      : [element("backups", [element("allowed_path", [xml(backupsAllowedPath)])])]),
  ]);
}

/** A part of more than a byte is too large to be merged. */
function withoutMerges(): string {
  return element("merge_tree", [
    "<max_bytes_to_merge_at_max_space_in_pool>1</max_bytes_to_merge_at_max_space_in_pool>",
    "<max_bytes_to_merge_at_min_space_in_pool>1</max_bytes_to_merge_at_min_space_in_pool>",
    "<max_number_of_merges_with_ttl_in_pool>0</max_number_of_merges_with_ttl_in_pool>",
  ]);
}

/** The only HTTP handler; it matches only requests that carry the key. */
function httpHandlers(key: string): string {
  const handler = element("handler", [
    "<type>dynamic_query_handler</type>",
    "<query_param_name>query</query_param_name>",
  ]);
  const headers = element("headers", [element("X-ClickHouse-Key", [xml(key)])]);
  return element("http_handlers", [element("rule", [headers, handler])]);
}

/**
 * A cluster of this server alone, whose secret seals Query packets: the engine runs no packet of the native protocol
 * without a hash of text, user and secret. Nothing connects to the cluster, and `system.clusters` does not show it.
 */
function sealedCluster({ port, secret }: EngineConfiguration["native"]): string {
  const replica = element("replica", ["<host>127.0.0.1</host>", element("port", [String(port)])]);
  return element("remote_servers", [
    element(sealedClusterName, [element("secret", [xml(secret)]), element("shard", [replica])]),
  ]);
}

/** ClickHouse cannot send proxy credentials, so the proxy port identifies the service. */
function proxy(url: string): string {
  const uri = [element("uri", [xml(url)])];
  return element("proxy", [element("http", uri), element("https", uri)]);
}

function queryLog(): string {
  return element("query_log", [
    "<database>system</database><table>query_log</table>",
    element("ttl", [`event_date + INTERVAL ${queryLogDays} DAY DELETE`]),
    "<flush_interval_milliseconds>2000</flush_interval_milliseconds>",
  ]);
}
