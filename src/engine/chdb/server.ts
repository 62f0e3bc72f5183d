/**
 * The genuine ClickHouse server in this process: started on a data directory, listening on a loopback port. It ends
 * with the process.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type ClickHouseAddress, ClickHouseClient } from "../../clickhouse/client.ts";
import { type EngineConfiguration, writeConfiguration } from "./configuration.ts";
import { runEngine } from "./library.ts";
import { internalUser } from "./users.ts";

/** The local tool ends with its last statement: this one takes about a hundred years. */
const keepAlive = `SELECT sleepEachRow(3) FROM numbers(1000000000)
  SETTINGS function_sleep_max_microseconds_per_block = 1000000000000, max_block_size = 1, max_threads = 1,
  log_queries = 0, max_execution_time = 0 FORMAT Null`;
const pollMs = 4;

export type EngineServer = {
  readonly address: ClickHouseAddress;
  readonly version: string;
  /** As the internal user. */
  readonly client: ClickHouseClient;
  /** Rejects when the server has ended. */
  readonly ended: Promise<never>;
};

/** Resolves when the server answers. Rejects when it has ended before, for example because its port was taken. */
export async function startServer(
  options: EngineConfiguration & { readonly dataDir: string; readonly configDir: string },
): Promise<EngineServer> {
  const file = writeConfiguration(options.configDir, options);
  const args = [`--config-file=${file}`, `--path=${options.dataDir}`];
  const ended = runEngine([...args, "--query", `SYSTEM START LISTEN HTTP; ${keepAlive}`]).then(() => {
    throw new Error("the engine has ended");
  });
  ended.catch(() => {});
  const address = { host: "127.0.0.1", port: options.port, user: internalUser, password: options.key };
  const client = new ClickHouseClient(address);
  const version = await Promise.race([ended, firstAnswer(client)]);
  return { address, version, client, ended };
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
