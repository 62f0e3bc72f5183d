/** Detects a server that no longer answers, or cannot end a statement. */
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import { literal } from "../../clickhouse/sql.ts";
import { internalUser } from "./users.ts";

const everyMs = 1_000;
/** A machine under load answers late; a server that hangs never does. */
const answerTimeoutMs = 30_000;

/**
 * Asks the server every second. Resolves with a sentence when it has not answered for 30 s, reports that it is ending,
 * or still runs a statement of this program `overtimeMs` (default: a minute) after the time that the statement has been
 * given: a reader that loops over damaged bytes hears of no limit and no KILL. The queries do not count as activity of
 * the service.
 */
export async function untilUnresponsive(client: ClickHouseClient, overtimeMs = 60_000): Promise<string> {
  const allowed = "toFloat64OrZero(Settings['max_execution_time'])";
  const endless =
    `SELECT count() FROM system.processes WHERE user = ${literal(internalUser)} ` +
    `AND ${allowed} > 0 AND elapsed > ${allowed} + ${overtimeMs / 1000}`;
  for (;;) {
    await delay(everyMs, undefined, { ref: false });
    try {
      const settings = { log_queries: 0 };
      const found = await client.text(endless, { settings, signal: AbortSignal.timeout(answerTimeoutMs) });
      if (found.trim() !== "0") return "the engine cannot end a statement that reads damaged data";
    } catch (error) {
      if (!(error instanceof ClickHouseError)) return `the engine has not answered for ${answerTimeoutMs / 1000} s`;
      // After an unrecoverable error the server shuts down and answers every statement with this error.
      if (error.code === clickHouseCodes.ABORTED) return `the engine is ending after a fatal error: ${error.message}`;
    }
  }
}
