/** Short questions to the engine as one of its users, whose rights hold for them. */
import { ClickHouseClient, ClickHouseError } from "../../clickhouse/client.ts";
import { parseException } from "../../clickhouse/exception.ts";
import type { NativeOptions } from "./options.ts";

/** Rejects with the engine's exception. */
export function askerAs(at: {
  readonly host: string;
  readonly port: number;
  readonly key: string;
}): NativeOptions["askAs"] {
  const clients = new Map<string, ClickHouseClient>();
  return async (user, sql, settings = {}) => {
    let client = clients.get(user);
    if (client === undefined) {
      client = new ClickHouseClient({ host: at.host, port: at.port, user, password: at.key });
      clients.set(user, client);
    }
    try {
      return await client.text(sql, { settings: { ...settings, log_queries: 0 } });
    } catch (error) {
      throw error instanceof ClickHouseError ? parseException(error.message) : error;
    }
  };
}
