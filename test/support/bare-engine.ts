/** An engine in a directory that is thrown away, asked at its own port: no gateway, no front, no guard before it. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClickHouseClient } from "../../src/clickhouse/client.ts";
import { spawnEngineHost } from "../../src/engine/spawn.ts";

export type BareEngine = AsyncDisposable & {
  readonly dir: string;
  /** As the internal user, which may do everything. */
  readonly client: ClickHouseClient;
  /** As a client's user of the engine: `default` and `reader`. */
  clientOf(user: string): ClickHouseClient;
  /** Ends the engine and starts it again on the same data. The clients of before ask nobody then. */
  restart(): Promise<void>;
};

/** Starts an engine with the users `default`, who may do what full users may, and `reader`. */
export async function startBareEngine(): Promise<BareEngine> {
  const dir = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "mr-bare-"));
  const start = () =>
    spawnEngineHost({
      dataDir: join(dir, "data"),
      socketPath: join(dir, "socket"),
      runDir: join(dir, "run"),
      maxMemoryBytes: 2_000_000_000,
      users: [
        { name: "default", readonly: false },
        { name: "reader", readonly: true },
      ],
      logLevel: "fatal",
    });
  let host = await start();
  const clients = new Map<string, ClickHouseClient>();
  const clientOf = (user: string) => {
    const client = clients.get(user) ?? new ClickHouseClient({ ...host.address, user });
    clients.set(user, client);
    return client;
  };
  return {
    dir,
    get client() {
      return clientOf(host.address.user as string);
    },
    clientOf,
    restart: async () => {
      await host.stop(5_000);
      clients.clear();
      host = await start();
    },
    [Symbol.asyncDispose]: async () => {
      await host.stop(5_000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
