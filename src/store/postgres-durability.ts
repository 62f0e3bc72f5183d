/** Whether what Postgres has confirmed survives the loss of its server. */
import type { Queries } from "./database.ts";

/**
 * Throws when a failover could lose confirmed transactions: a pipe whose last positions are lost cuts other batches
 * from the rows after them, whose tokens the tables do not know, and these rows are inserted twice.
 */
export async function requireDurable(db: Queries): Promise<void> {
  const found = await db.get<{ commit: string; names: string; standbys: number }>(
    `SELECT current_setting('synchronous_commit') AS "commit", current_setting('synchronous_standby_names') AS names,
       (SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, '') <> 'backup' AND pid NOT IN (
          SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL
        )) AS standbys`,
  );
  if (found === undefined) return;
  const { commit, names, standbys } = found;
  const insist = "or accept rows that arrive twice after a failover with --allow-async-replication";
  if (commit === "off") throw new Error(`synchronous_commit is off: set it to on, ${insist}`);
  if (standbys === 0) return;
  if (names === "") {
    throw new Error(`it has standbys, and none is synchronous: set synchronous_standby_names, ${insist}`);
  }
  if (commit === "local") throw new Error(`synchronous_commit is local, and it has standbys: set it to on, ${insist}`);
}
