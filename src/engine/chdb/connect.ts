/** Connects to a server that was started in this process. */
import { rmSync } from "node:fs";
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

/**
 * Resolves when the server answers, and no file holds its key any more: it does not read its configuration again, and a
 * statement that reads a file must not find the key. Rejects when it ends first, for example because its port is taken.
 */
export async function connectServer(
  { ended, files, leaveTerminal }: ServerThread,
  { host, port, key }: { readonly host: string; readonly port: number; readonly key: string },
): Promise<EngineServer> {
  const client = new ClickHouseClient({ host, port, user: internalUser, password: key });
  const version = await Promise.race([ended, firstAnswer(client, leaveTerminal)]);
  for (const file of Object.values(files)) rmSync(file);
  return { version, client };
}

async function firstAnswer(client: ClickHouseClient, beforeEach: () => void): Promise<string> {
  for (;;) {
    beforeEach();
    try {
      return (await client.text("SELECT version()")).trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
      await delay(pollMs);
    }
  }
}
