/** Statements BACKUP and RESTORE of a distant server. They run for hours, and outlive the connection that sent them. */
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { literal } from "../../clickhouse/sql.ts";

const lookMs = 200;
/** A server that cannot be asked for this long is away. */
const patienceMs = 60_000;

type OperationRow = { readonly status: string; readonly error: string };

/**
 * Starts a statement whose settings contain this id, and resolves when the server has completed it. Throws with the
 * server's reason. The server is told to stop when the signal aborts.
 */
export async function runOperation(
  client: ClickHouseClient,
  statement: string,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  await client.command(`${statement} ASYNC`, { signal, queryId: id }).catch((error: unknown) => {
    if (!(error instanceof ClickHouseError)) throw error;
    throw new ClickHouseError(error.code, error.httpStatus, withoutKeys(error.message));
  });
  try {
    await untilEnded(client, id, signal);
  } catch (error) {
    if (signal.aborted) await client.command(`KILL QUERY WHERE query_id = ${literal(id)} ASYNC`).catch(() => {});
    throw error;
  }
}

async function untilEnded(client: ClickHouseClient, id: string, signal: AbortSignal): Promise<void> {
  let answeredAt = performance.now();
  for (;;) {
    const row = await statusOf(client, id, signal).catch((error: unknown) => {
      if (signal.aborted || error instanceof ClickHouseError || performance.now() - answeredAt > patienceMs)
        throw error;
      return "away" as const;
    });
    if (row === undefined) throw new Error("the server was restarted meanwhile, which ends its backups and restores");
    if (row !== "away") {
      answeredAt = performance.now();
      if (row.status === "BACKUP_CREATED" || row.status === "RESTORED") return;
      if (/FAILED|CANCELLED/.test(row.status)) throw failureOf(row);
    }
    await delay(lookMs, undefined, { signal });
  }
}

async function statusOf(client: ClickHouseClient, id: string, signal: AbortSignal): Promise<OperationRow | undefined> {
  const sql = `SELECT status, error FROM system.backups WHERE id = ${literal(id)}`;
  const [row] = await client.rows<OperationRow>(sql, { signal });
  return row;
}

/** A server that cannot read a statement repeats it as it came, with the keys. */
export function withoutKeys(message: string): string {
  return message.replace(/\b(S3\('[^']*', '[^']*'), (?!'\[HIDDEN\]').*/gs, "$1, '[HIDDEN]'");
}

/** The server adds its stack to the reason. */
function failureOf({ status, error }: OperationRow): ClickHouseError {
  const [reason = ""] = error.split(/, Stack trace \(when copying/);
  const code = Number(/^Code: (\d+)/.exec(reason)?.[1] ?? 0);
  return new ClickHouseError(code, 500, reason === "" ? `the server says ${status}` : reason);
}
