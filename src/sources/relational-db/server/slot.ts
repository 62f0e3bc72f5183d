/** What the pipe makes at the source: a publication and a slot, and the snapshots that copies are read in. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { SourceObject } from "../../contract/own-objects.ts";
import { ownSqlName } from "../../contract/own-objects.ts";
import type { TimelineHistory } from "../declaration/durable.ts";
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";
import { parseLsn, versionText } from "../protocol/lsn.ts";
import { connect } from "./connection.ts";
import { postgresSourceError } from "./errors.ts";
import { namingWhatItWaitsFor, type TellWaiting } from "./open-transactions.ts";
import { quoteName, quoteText } from "./session.ts";
import { type SlotRow, slotLossReason } from "./slot-health.ts";
import { readTimelineHistory } from "./timeline-history.ts";

export type ReplicationNames = {
  readonly slot: string;
  readonly publication: string;
  /** Made by the pipe, and dropped with it. */
  readonly ownSlot: boolean;
  readonly ownPublication: boolean;
};

/** Derived from the pipe's id, so that what was made is found again without a record of it. */
export function replicationNamesOf(config: RelationalDbConfig, pipeId: string): ReplicationNames {
  const own = ownSqlName(pipeId);
  const { replicationSlotName, publicationName } = config.settings ?? {};
  return {
    slot: replicationSlotName ?? own,
    publication: publicationName ?? own,
    ownSlot: replicationSlotName === undefined,
    ownPublication: publicationName === undefined,
  };
}

/** A snapshot that copies can be read in as long as it is not closed. */
export type ExportedSnapshot = {
  readonly name: string;
  /** Copies show all transactions that committed before this position. Exact only for a slot's snapshot. */
  readonly lsn: string;
  /** The version of the rows that are copied in it. */
  readonly version: string;
  close(): Promise<void>;
};

/** Creates the pipe's slot, in place of an older one of the same name, with the snapshot of its first position. */
export async function createSlot(
  server: SourceServer,
  slot: string,
  failover: boolean,
  tell: TellWaiting,
): Promise<ExportedSnapshot & { readonly lineage: TimelineHistory }> {
  const client = await connect(server, { replication: true });
  try {
    // The snapshot ends with the next command on its connection.
    const lineage = await readTimelineHistory(client);
    await client.query(`SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
      WHERE slot_name = ${quoteText(slot)}`);
    const options = failover ? "(SNAPSHOT 'export', FAILOVER true)" : "EXPORT_SNAPSHOT";
    const command = `CREATE_REPLICATION_SLOT ${quoteName(slot)} LOGICAL pgoutput ${options}`;
    const created = await namingWhatItWaitsFor(server, client, tell, () => client.query(command));
    const row = created.rows[0] as { snapshot_name: string; consistent_point: string };
    const close = () => client.end();
    return { name: row.snapshot_name, lsn: row.consistent_point, version: "0", lineage, close };
  } catch (error) {
    await client.end().catch(() => {});
    throw postgresSourceError(error);
  }
}

/**
 * The snapshot of a slot that goes with its connection: exact, and later than every transaction that was running when
 * it was asked for. The pipe's own slot keeps all that happened since, if the check on the same connection says so.
 */
export async function temporarySnapshot(
  server: SourceServer,
  check: (client: pg.Client) => Promise<unknown>,
  tell: TellWaiting,
): Promise<ExportedSnapshot> {
  const client = await connect(server, { replication: true });
  try {
    await check(client);
    const name = `millrace_copy_${randomBytes(8).toString("hex")}`;
    const command = `CREATE_REPLICATION_SLOT ${name} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT`;
    const created = await namingWhatItWaitsFor(server, client, tell, () => client.query(command));
    const row = created.rows[0] as { snapshot_name: string; consistent_point: string };
    // Later than every transaction that the copies show, and earlier than all others.
    const version = versionText(parseLsn(row.consistent_point) - 1n, 0, false);
    return { name: row.snapshot_name, lsn: row.consistent_point, version, close: () => client.end() };
  } catch (error) {
    await client.end().catch(() => {});
    throw postgresSourceError(error);
  }
}

/** A snapshot of now, for a pipe that copies only and needs no slot. */
export async function exportSnapshot(server: SourceServer): Promise<ExportedSnapshot> {
  const client = await connect(server);
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const { rows } = await client.query<{ name: string; lsn: string }>(
      "SELECT pg_catalog.pg_export_snapshot() AS name, pg_catalog.pg_current_wal_lsn()::text AS lsn",
    );
    return { ...(rows[0] as { name: string; lsn: string }), version: "0", close: () => client.end() };
  } catch (error) {
    await client.end().catch(() => {});
    throw postgresSourceError(error);
  }
}

export type SlotState = {
  readonly isStandby: boolean;
  /** Absent when there is no such slot. */
  readonly confirmed?: string;
  /** Why it cannot be used any more. */
  readonly loss?: string;
};

/** A simple query: also for connections that take replication commands. */
export async function findSlot(client: pg.Client, slot: string): Promise<SlotState> {
  const { rows } = await client.query<SlotRow & { isStandby: boolean; confirmed: string | null }>(
    `SELECT pg_catalog.pg_is_in_recovery() AS "isStandby", s.confirmed_flush_lsn::text AS confirmed,
       s.wal_status AS "walStatus", pg_catalog.to_jsonb(s)->>'invalidation_reason' AS reason,
       (pg_catalog.to_jsonb(s)->>'conflicting')::bool AS conflicting
     FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_replication_slots s ON s.slot_name = ${quoteText(slot)}`,
  );
  const row = rows[0] as (typeof rows)[number];
  const loss = slotLossReason(row);
  return {
    isStandby: row.isStandby,
    ...(row.confirmed === null ? {} : { confirmed: row.confirmed }),
    ...(loss === undefined ? {} : { loss }),
  };
}

/** Drops what the pipe made, if it is there. */
export async function dropReplicationObjects(
  server: SourceServer,
  { kind, name }: SourceObject,
  signal: AbortSignal,
): Promise<void> {
  await using client = await connect(server);
  try {
    if (kind === "slot") await dropSlot(client, name, signal);
    else await client.query(`DROP PUBLICATION IF EXISTS ${quoteName(name)}`);
  } catch (error) {
    throw postgresSourceError(error);
  }
}

/** Drops a slot that no client reads; false when one does. Throws what the driver throws. */
export async function dropIdleSlot(client: Pick<pg.ClientBase, "query">, slot: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
      WHERE slot_name = $1 AND NOT active`,
    [slot],
  );
  return rowCount === 1;
}

/** A slot that is in use is tried again until its reader is gone. */
async function dropSlot(client: pg.Client, slot: string, signal: AbortSignal): Promise<void> {
  const end = `SELECT pg_catalog.pg_terminate_backend(active_pid) FROM pg_catalog.pg_replication_slots
    WHERE slot_name = $1 AND active_pid IS NOT NULL`;
  const drop = `SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
    WHERE slot_name = $1`;
  for (let attempt = 1; ; attempt += 1) {
    await client.query(end, [slot]);
    try {
      await client.query(drop, [slot]);
      return;
    } catch (error) {
      if (attempt === 50 || signal.aborted) throw error;
      await client.query("SELECT pg_catalog.pg_sleep(0.1)");
    }
  }
}
