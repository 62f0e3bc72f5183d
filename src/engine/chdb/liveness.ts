/** Detects a server that no longer answers. */
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";

const everyMs = 1_000;
/** A machine under load answers late; a server that hangs never does. */
const answerTimeoutMs = 30_000;

/**
 * Asks the server every second. Resolves with a sentence when it has not answered for 30 s, or reports that it is
 * ending. The queries do not count as activity of the service.
 */
export async function untilUnresponsive(client: ClickHouseClient): Promise<string> {
  for (;;) {
    await delay(everyMs, undefined, { ref: false });
    try {
      await client.text("SELECT 1", { settings: { log_queries: 0 }, signal: AbortSignal.timeout(answerTimeoutMs) });
    } catch (error) {
      if (!(error instanceof ClickHouseError)) return `the engine has not answered for ${answerTimeoutMs / 1000} s`;
      // After an unrecoverable error the server shuts down and answers every statement with this error.
      if (error.code === clickHouseCodes.ABORTED) return `the engine is ending after a fatal error: ${error.message}`;
    }
  }
}
