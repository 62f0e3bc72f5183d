/**
 * The connection that reads the slot of a pipe. When a machine vanishes, the source keeps its connection, and with it
 * the slot, until `wal_sender_timeout`. The next process of the pipe ends it: its name says which pipe it belongs to,
 * and the fence of its process. A connection of anybody else is left alone.
 */
import { AppError } from "../../../lib/errors.ts";
import type { SlotReader, SourceServer } from "../declaration/kind.ts";
import { connect } from "./connection.ts";
import { postgresSourceError } from "./errors.ts";

type Present = { readonly pid: number; readonly user: string | null; readonly name: string | null };

/** `application_name` of the connection; shorter than the 63 bytes that Postgres keeps. */
export function readerName({ pipeId, fence }: Pick<SlotReader, "pipeId" | "fence">): string {
  return `millrace ${pipeId} ${fence}`;
}

/** Whether a connection of this name belongs to an earlier process of the same pipe. */
export function isEarlier(name: string | null, { pipeId, fence }: Pick<SlotReader, "pipeId" | "fence">): boolean {
  const [, id, number] = /^millrace (\S+) (\d+)$/.exec(name ?? "") ?? [];
  return id === pipeId && Number(number) < fence;
}

/**
 * Ends the connection that reads the slot if it belongs to an earlier process of the pipe. Otherwise returns a sentence
 * that names the reader, or the right that the user lacks. Throws LEASE_LOST, and SOURCE_* when the source cannot be
 * asked.
 */
export async function endEarlierReader(
  server: SourceServer,
  slot: string,
  reader: SlotReader,
): Promise<string | undefined> {
  await using client = await connect(server);
  try {
    const { rows } = await client.query<Present>(
      `SELECT a.pid, a.usename AS "user", a.application_name AS name FROM pg_catalog.pg_replication_slots s
         JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid WHERE s.slot_name = $1`,
      [slot],
    );
    const [present] = rows;
    if (present === undefined) return undefined;
    if (!isEarlier(present.name, reader)) return foreign(slot, present);
    await reader.requireHeld();
    // Compared once more: the process id may belong to somebody else by now.
    await client.query(
      `SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_replication_slots s
         JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid
       WHERE s.slot_name = $1 AND a.pid = $2 AND a.application_name = $3`,
      [slot, present.pid, present.name],
    );
    return undefined;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isRefused = (error as { code?: string }).code === "42501";
    if (!isRefused) throw postgresSourceError(error);
    return refused(slot, server);
  }
}

function foreign(slot: string, { pid, user, name }: Present): string {
  // Names of sessions are shown to members of their role only.
  const who = `process ${pid} of user "${user}"${name === null ? "" : `, application_name "${name}"`}`;
  return `The replication slot "${slot}" is read by another connection (${who}). The pipe waits until it ends.`;
}

function refused(slot: string, { config }: SourceServer): string {
  const user = config.credentials?.username ?? "";
  return (
    `An earlier connection of this pipe still holds the replication slot "${slot}", and user "${user}" may not end it. ` +
    `The source ends it after its wal_sender_timeout; GRANT pg_signal_backend TO "${user}" allows it at once.`
  );
}
