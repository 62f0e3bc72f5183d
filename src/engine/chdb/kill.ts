/** Cancels a running query over a separate connection. */
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { literal } from "../../clickhouse/sql.ts";

/**
 * Asks the engine to cancel a user's query, which may have finished already. Never rejects, because nobody waits for
 * the result.
 */
export async function killQuery(client: ClickHouseClient, user: string, queryId: string): Promise<void> {
  const where = `query_id = ${literal(queryId)} AND user = ${literal(user)}`;
  await client.command(`KILL QUERY WHERE ${where} ASYNC FORMAT Null`).catch(() => {});
}
