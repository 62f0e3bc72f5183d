/** Short questions to the engine as one of its users, whose rights hold for them. */
import { ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { parseException } from "../../clickhouse/exception.ts";
import type { NativePort } from "./sealed-connection.ts";
import type { AskAsUser } from "./session-statement.ts";

/** `port` is that of the engine's HTTP interface. */
export function askerAs({ host, port, key }: Omit<NativePort, "secret">): (user: string) => AskAsUser {
  const clients = new Map<string, ClickHouseClient>();
  return (user) => {
    const client = clients.get(user) ?? new ClickHouseClient({ host, port, user, password: key });
    clients.set(user, client);
    return async (sql, settings = {}) => {
      return await client.text(sql, { settings: { ...settings, log_queries: 0 } }).catch((error: unknown) => {
        throw error instanceof ClickHouseError ? parseException(error.message) : error;
      });
    };
  };
}
