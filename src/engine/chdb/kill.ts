/** Ending a query from outside of it. */
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import { literal } from "../../clickhouse/sql.ts";

/** Asks the engine to cancel a user's query; it may be over already. Never rejects: there is nobody left to tell. */
export async function killQuery(client: ClickHouseClient, user: string, queryId: string): Promise<void> {
  const where = `query_id = ${literal(queryId)} AND user = ${literal(user)}`;
  await client.command(`KILL QUERY WHERE ${where} ASYNC FORMAT Null`).catch(() => {});
}
