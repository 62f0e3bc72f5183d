/** Connects to a server that was started in this process. */
import { setTimeout as delay } from "node:timers/promises";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import type { ServerThread } from "./server.ts";
import { internalUser } from "./users.ts";

const pollMs = 4;

export type EngineServer = {
  readonly version: string;
  /** Authenticated as the internal user. */
  readonly client: ClickHouseClient;
};

/** Resolves when the server answers. Rejects when it ends first, for example because its port is taken. */
export async function connectServer(
  { ended }: ServerThread,
  { port, key }: { readonly port: number; readonly key: string },
): Promise<EngineServer> {
  const client = new ClickHouseClient({ host: "127.0.0.1", port, user: internalUser, password: key });
  const version = await Promise.race([ended, firstAnswer(client)]);
  return { version, client };
}

async function firstAnswer(client: ClickHouseClient): Promise<string> {
  for (;;) {
    try {
      return (await client.text("SELECT version()")).trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
      await delay(pollMs);
    }
  }
}
