/**
 * Checks a connection to an external server before it is stored: every problem is named with the member of the
 * connection and with what to do about it. It changes nothing on the server.
 */
import { type ClickHouseAddress, ClickHouseClient, type QueryOptions } from "../../clickhouse/client.ts";
import { identifier, parameterText } from "../../clickhouse/sql.ts";
import { childOf } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { OutgoingPolicy } from "../../outgoing/policy.ts";
import type { ServiceConnection } from "../../store/services/service-connections.ts";
import { addressesOf, urlOf } from "./addresses.ts";
import { type ServerTrouble, troubleOf } from "./failure.ts";

/** Older servers lack settings that make inserts exactly-once. */
const oldestVersion = [25, 8] as const;
const timeoutMs = 10_000;

/** Database engines whose tables stay, and that the statements of pipes fit. `Overlay`: of clickhouse-local. */
const databaseEngines = new Set(["Atomic", "Replicated", "Shared", "Ordinary", "Overlay"]);

/** What pipes, charts and lists need of a database, and of the server's own tables. */
const databaseGrants = "SHOW, SELECT, INSERT, CREATE TABLE, CREATE VIEW, ALTER TABLE, DROP TABLE, DROP VIEW, TRUNCATE";

/** The rights that the user of a connection must have: what follows GRANT. */
export function neededGrants(database: string): string[] {
  return [`${databaseGrants} ON ${identifier(database)}.*`, "SELECT ON system.*", "TABLE ENGINE ON *"];
}

/** Throws CONNECTION_* or SOURCE_ADDRESS_REFUSED with one issue per problem. */
export async function inspectConnection(
  connection: ServiceConnection,
  password: string,
  policy: OutgoingPolicy,
  requestSignal: AbortSignal,
): Promise<void> {
  using time = childOf(requestSignal);
  using _ = setTimeout(() => time.abort(new Error("timed out")), timeoutMs);
  const look = (address: ClickHouseAddress, index: number) => troublesAt(address, index, connection, time.signal);
  const found = await Promise.all(addressesOf(connection, password, policy).map(look));
  requestSignal.throwIfAborted();
  const troubles = distinct(found.flat());
  const [first] = troubles;
  if (first === undefined) return;
  const issues = troubles.map(({ path, message }) => ({ path, message }));
  const text = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new AppError(first.code, `${text}.`, { issues });
}

async function troublesAt(
  address: ClickHouseAddress,
  index: number,
  connection: ServiceConnection,
  signal: AbortSignal,
): Promise<ServerTrouble[]> {
  using client = new ClickHouseClient(address);
  try {
    const path = `connection.urls[${index}]`;
    const version = (await client.text("SELECT version()", { signal })).trim();
    const old = versionTrouble(version, path, urlOf(address));
    if (old !== undefined) return [old];
    const ask: Ask = (sql, options) => client.rows(sql, { ...options, signal });
    return [
      await databaseTrouble(ask, connection),
      await grantTrouble(ask, connection),
      await clusterTrouble(ask, connection),
    ].filter((trouble) => trouble !== undefined);
  } catch (error) {
    return [troubleOf(error, address, index)];
  }
}

type Ask = <Row>(sql: string, options?: Pick<QueryOptions, "params">) => Promise<Row[]>;

function versionTrouble(version: string, path: string, url: string): ServerTrouble | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) {
    const message = `${url} does not answer like a ClickHouse server; check host and port of its HTTP interface`;
    return { code: "CONNECTION_INVALID", path, message };
  }
  const [oldMajor, oldMinor] = oldestVersion;
  if (Number(major) > oldMajor || (Number(major) === oldMajor && Number(minor) >= oldMinor)) return undefined;
  const message = `${url} runs ClickHouse ${version}; upgrade it to ${oldestVersion.join(".")} or later`;
  return { code: "CONNECTION_INVALID", path, message };
}

async function databaseTrouble(ask: Ask, { database = "default" }: ServiceConnection) {
  const path = "connection.database";
  const sql = "SELECT engine FROM system.databases WHERE name = {database:String}";
  const [row] = await ask<{ engine: string }>(sql, { params: { database: parameterText(database) } });
  if (row === undefined) {
    const message = `the user sees no database ${database}; create it: CREATE DATABASE ${identifier(database)}, or grant it: ${grantOn(database)}`;
    return { code: "CONNECTION_INVALID", path, message } as const;
  }
  if (databaseEngines.has(row.engine)) return undefined;
  const message = `the database ${database} has the engine ${row.engine}; name one of the engines Atomic, Replicated or Shared`;
  return { code: "CONNECTION_INVALID", path, message } as const;
}

function grantOn(database: string): string {
  return `GRANT ${databaseGrants} ON ${identifier(database)}.*`;
}

async function grantTrouble(ask: Ask, { username, database = "default" }: ServiceConnection) {
  const missing: string[] = [];
  for (const rights of neededGrants(database)) {
    // 25.8 denies the right to all engines also to those who have it, and answers rightly about one of them.
    const asked = rights.replace(/^TABLE ENGINE ON \*$/, "TABLE ENGINE ON MergeTree");
    const [answer] = await ask<{ result: number }>(`CHECK GRANT ${asked}`);
    if (Number(answer?.result) !== 1) missing.push(`GRANT ${rights} TO ${identifier(username)}`);
  }
  if (missing.length === 0) return undefined;
  const message = `the user ${username} lacks rights; run: ${missing.join("; ")}`;
  return { code: "CONNECTION_UNAUTHORIZED", path: "connection.username", message } as const;
}

/** A cluster is needed by tables that are created on every replica, which find their place by macros. */
async function clusterTrouble(ask: Ask, { cluster }: ServiceConnection) {
  if (cluster === undefined) return undefined;
  const path = "connection.cluster";
  const names = (await ask<{ cluster: string }>("SELECT DISTINCT cluster FROM system.clusters")).map(
    (row) => row.cluster,
  );
  if (!names.includes(cluster)) {
    const known = names.length === 0 ? "it knows none" : `it knows ${names.slice(0, 20).join(", ")}`;
    const message = `the server knows no cluster ${cluster}: ${known}`;
    return { code: "CONNECTION_INVALID", path, message } as const;
  }
  const macros = new Set((await ask<{ macro: string }>("SELECT macro FROM system.macros")).map((row) => row.macro));
  const missing = ["shard", "replica"].filter((name) => !macros.has(name));
  if (missing.length === 0) return undefined;
  const message = `the server has no macro ${missing.join(" and ")}, by which replicated tables find their place; add it to <macros> of its configuration`;
  return { code: "CONNECTION_INVALID", path, message } as const;
}

/** Hosts of one server share user, database and cluster. */
function distinct(troubles: readonly ServerTrouble[]): ServerTrouble[] {
  return [...new Map(troubles.map((trouble) => [`${trouble.path} ${trouble.message}`, trouble])).values()];
}
