/**
 * What a pipe needs of its source, looked at before the pipe is created. All problems are reported together, each with
 * the member of the configuration it belongs to and what to do about it.
 */
import type pg from "pg";
import { AppError, type Issue } from "../../../lib/errors.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { readTables } from "../server/catalog.ts";
import { postgresSourceError } from "../server/errors.ts";
import { login } from "../server/login.ts";
import { followsLog, issue, type Preflight, type PreflightOptions, type ServerFacts, tableKey } from "./issues.ts";
import { mappingLosses } from "./losses.ts";
import { publicationIssues, slotIssues } from "./objects.ts";
import { partitionIssues } from "./partitions.ts";
import { readTableFacts, tableIssues } from "./tables.ts";
import { targetIssues } from "./targets.ts";

/** The oldest version that gives `messages` to pgoutput, and the oldest that Postgres' own community maintains. */
export const oldestVersion = 140_000;

/** Throws SOURCE_* with every problem found; an unreachable server or a refused login is the only one then. */
export async function preflight(source: SourceServer, options: PreflightOptions, signal: AbortSignal): Promise<void> {
  await using client = await options.run.reach("database", () => login(source, {}, signal));
  try {
    const issues = await look(client, source, options, signal);
    if (issues.length === 0) return;
    const message = issues.map(({ path, message: text }) => `${path}: ${text}`).join("; ");
    throw new AppError("SOURCE_INVALID", message, { issues });
  } catch (error) {
    signal.throwIfAborted();
    throw postgresSourceError(error);
  }
}

async function look(
  client: pg.Client,
  source: SourceServer,
  options: PreflightOptions,
  signal: AbortSignal,
): Promise<Issue[]> {
  const { run } = options;
  const server = await readServer(client);
  const old = await run.look("server", () => versionIssues(server));
  if (old.length > 0) return [...old];
  const { config } = source;
  const names = config.tableMappings.map(({ sourceSchemaName, sourceTable }) => ({
    schema: sourceSchemaName,
    name: sourceTable,
  }));
  const found = await readTables(client, names);
  const tables = new Map(found.map((table) => [tableKey(table.schema, table.name), table]));
  const parts: Preflight = { client, source, config, server, tables, known: options.known };
  const facts = await readTableFacts(parts);
  const follows = followsLog(config);
  for (const loss of mappingLosses(parts)) options.warn?.(loss);
  return [
    ...(follows ? await run.look("replication", () => logIssues(parts, signal)) : []),
    ...(await run.look("tables", () => tableIssues(parts, facts))),
    ...(follows ? await run.look("publication", () => publicationIssues(parts, facts)) : []),
    ...(follows ? await run.look("slot", () => slotIssues(parts)) : []),
    ...(await run.look("targetTables", async () => [
      ...(await targetIssues(parts, options)),
      ...(await partitionIssues(parts, options)),
    ])),
  ];
}

async function readServer(client: pg.Client): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(`
    SELECT pg_catalog.current_setting('server_version_num')::int4 AS version,
      pg_catalog.current_setting('wal_level') AS "walLevel", pg_catalog.pg_is_in_recovery() AS standby,
      (SELECT pg_catalog.count(*)::int4 FROM pg_catalog.pg_replication_slots) AS slots,
      pg_catalog.current_setting('max_replication_slots')::int4 AS "maxSlots",
      pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') AS "mayCreate",
      current_user::text AS user`);
  return rows[0] as ServerFacts;
}

function versionIssues({ version }: ServerFacts): Issue[] {
  if (version >= oldestVersion) return [];
  const shown = `${Math.floor(version / 10_000)}.${version % 10_000}`;
  return [issue("host", `the server is Postgres ${shown}; version ${oldestVersion / 10_000} or newer is needed`)];
}

/** What following the log needs of the server. */
async function logIssues(parts: Preflight, signal: AbortSignal): Promise<Issue[]> {
  const { config, server } = parts;
  const issues: Issue[] = [];
  if (server.standby) {
    issues.push(issue("host", 'is a standby; give the primary, or use replicationMode "snapshot"'));
  }
  if (server.walLevel !== "logical") {
    const remedy =
      "set wal_level = logical and restart Postgres (rds.logical_replication = 1 on RDS and Aurora, " +
      "cloudsql.logical_decoding = on on Cloud SQL)";
    issues.push(issue("host", `wal_level is "${server.walLevel}" and must be "logical"; ${remedy}`));
  }
  const { replicationSlotName, enableFailoverSlots } = config.settings ?? {};
  if (parts.known === undefined && replicationSlotName === undefined && server.slots >= server.maxSlots) {
    const remedy = "drop one that nobody uses, or raise max_replication_slots and restart Postgres";
    issues.push(issue("host", `all ${server.maxSlots} replication slots are taken; ${remedy}`));
  }
  if (enableFailoverSlots === true && server.version < 170_000) {
    const shown = Math.floor(server.version / 10_000);
    issues.push(issue("settings.enableFailoverSlots", `needs Postgres 17 or newer; the server is Postgres ${shown}`));
  }
  return [...issues, ...(await replicationIssues(parts.source, signal))];
}

/** Opens a replication connection, as the stream does: the only reliable test of the right. */
async function replicationIssues(source: SourceServer, signal: AbortSignal): Promise<Issue[]> {
  try {
    const client = await login(source, { replication: true }, signal);
    await client.end().catch(() => {});
    return [];
  } catch (error) {
    signal.throwIfAborted();
    const cause = (error as Error).cause as { code?: string; message?: string } | undefined;
    const user = source.config.credentials?.username ?? "";
    if (cause?.code === "42501") {
      const remedy = `ALTER ROLE "${user}" REPLICATION (on RDS: GRANT rds_replication TO "${user}")`;
      return [issue("credentials", `user "${user}" has no replication right: ${remedy}`)];
    }
    if (cause?.code === "53300") {
      const remedy = "raise max_wal_senders and restart Postgres, or end a replica that is not needed";
      return [issue("host", `no WAL sender is free (${cause.message}); ${remedy}`)];
    }
    const { issues = [] } = error as AppError;
    const refused = "a replication connection is refused";
    if (issues.length === 0) return [issue("host", `${refused}: ${(error as Error).message}`)];
    return issues.map(({ path, message }) => ({ path, message: `${refused}: ${message}` }));
  }
}
