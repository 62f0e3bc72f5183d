/**
 * A cluster of real servers with two shards of two replicas each, and a ZooKeeper. Replication is that of the engine;
 * only the way of a part's bytes from one replica to another is the harness's. There is no ON CLUSTER.
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouseAddress } from "../../src/clickhouse/client.ts";
import { element, xml } from "../../src/engine/chdb/xml.ts";
import { Agent } from "../../src/lib/node-http.ts";
import { freePorts } from "../network/free-port.ts";
import { servePartsOf } from "./part-fetches.ts";
import { type ServerPorts, serverUser, TestServer } from "./server.ts";
import { TestZooKeeper, zooKeeperMissing } from "./zookeeper.ts";

const library = fileURLToPath(new URL("../../node_modules/@chdb/lib-linux-x64-gnu/libchdb.so", import.meta.url));
const script = fileURLToPath(new URL("./replica.py", import.meta.url));

export const clusterName = "quad";
/** An ordinary Atomic database on every server. */
export const clusterDatabase = "work";

export type Replica = { readonly name: string; readonly shard: number; readonly server: TestServer; isUp: boolean };

/** Why there can be no cluster here; undefined when there can. */
export function clusterMissing(): string | undefined {
  if (zooKeeperMissing !== undefined) return zooKeeperMissing;
  try {
    execFileSync("python3", [script, library, "0"], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? error)
      .trim()
      .split("\n")
      .at(-1);
    return `No replicas can be started with this library: ${said}`;
  }
}

/** `LOGS=folder` keeps the logs of replicas. */
function logOf(dir: string): string {
  return join(process.env.LOGS ?? dir, `${basename(dir)}.log`);
}

function launchReplica(fetches: number, args: readonly string[], dir: string) {
  const stderr = openSync(logOf(dir), "a");
  try {
    return spawn("python3", [script, library, String(fetches), ...args], {
      stdio: ["ignore", "ignore", stderr],
      env: { ...process.env, HOME: dir },
    });
  } finally {
    closeSync(stderr);
  }
}

/** The last lines that a replica wrote, for one that ended by itself. */
export function lastWordsOf({ server }: Replica): string {
  const file = logOf(server.dir);
  return existsSync(file) ? readFileSync(file, "utf8").slice(-3_000) : "";
}

export class TestCluster implements AsyncDisposable {
  readonly keeper: TestZooKeeper;
  readonly replicas: Replica[] = [];
  readonly #started: TestServer[] = [];
  readonly #fetches: Server[] = [];

  private constructor(keeper: TestZooKeeper) {
    this.keeper = keeper;
  }

  /** Throws when `clusterMissing` has a reason. */
  static async start(): Promise<TestCluster> {
    const cluster = new TestCluster(await TestZooKeeper.start());
    try {
      await cluster.#startReplicas();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #startReplicas(): Promise<void> {
    const ports: (ServerPorts & { fetches: number })[] = [];
    const free = await freePorts(12);
    for (let at = 0; at < 4; at += 1) {
      const [http, tcp, fetches] = free.slice(at * 3) as [number, number, number];
      ports.push({ http, tcp, fetches });
    }
    const start = async ({ fetches, ...own }: (typeof ports)[number], at: number): Promise<Replica> => {
      const shard = at < 2 ? 1 : 2;
      const name = `r${shard}${(at % 2) + 1}`;
      const configuration = this.#configuration(name, shard, ports);
      const launch = (args: readonly string[], dir: string) => launchReplica(fetches, args, dir);
      const server = await TestServer.start({ ports: own, configuration, launch });
      const replica = { name, shard, server, isUp: true };
      this.#started.push(server);
      this.#fetches.push(await servePartsOf(server.client, fetches, () => replica.isUp));
      await server.client.command(`CREATE DATABASE ${clusterDatabase}`);
      return replica;
    };
    const all = await Promise.allSettled(ports.map(start));
    for (const outcome of all) {
      if (outcome.status === "rejected") throw outcome.reason;
      this.replicas.push(outcome.value);
    }
  }

  #configuration(name: string, shard: number, ports: readonly ServerPorts[]): string[] {
    const macros = { cluster: clusterName, shard: `0${shard}`, replica: name };
    const replica = ({ tcp }: ServerPorts) =>
      element("replica", [
        ...["<host>127.0.0.1</host>", element("port", [String(tcp)])],
        ...[element("user", [xml(serverUser.name)]), element("password", [xml(serverUser.password)])],
      ]);
    const shards = [ports.slice(0, 2), ports.slice(2)].map((of) =>
      element("shard", ["<internal_replication>true</internal_replication>", ...of.map(replica)]),
    );
    return [
      "<logger><level>fatal</level><console>1</console></logger>",
      element("part_log", [
        "<database>system</database><table>part_log</table>",
        "<flush_interval_milliseconds>500</flush_interval_milliseconds>",
      ]),
      element(
        "macros",
        Object.entries(macros).map(([key, value]) => element(key, [value])),
      ),
      element("remote_servers", [element(clusterName, shards)]),
      element("zookeeper", [
        element("node", ["<host>127.0.0.1</host>", element("port", [String(this.keeper.port)])]),
        "<session_timeout_ms>4000</session_timeout_ms>",
        // Every process has the same id: replicas would end each other's sessions.
        `<sessions_path>/clickhouse/sessions-${name}</sessions_path>`,
      ]),
      // Tables are created on each server, so that they have no uuid in common.
      "<default_replica_path>/clickhouse/tables/{database}/{table}/{shard}</default_replica_path>",
    ];
  }

  /** A client of the first shard's servers, as a service's connection names them. */
  get address(): ClickHouseAddress {
    const [first, second] = this.replicas as [Replica, Replica];
    const { host, port } = second.server.address;
    const openAgent = () => new Agent({ keepAlive: true });
    return { ...first.server.address, others: [{ host, port }], cluster: clusterName, isExternal: true, openAgent };
  }

  /** Runs a statement on every server. */
  async onEach(sql: string): Promise<void> {
    for (const { server } of this.replicas) await server.client.command(sql, { database: clusterDatabase });
  }

  async kill(replica: Replica): Promise<void> {
    replica.isUp = false;
    await replica.server.kill();
  }

  async restart(replica: Replica): Promise<void> {
    await replica.server.restart();
    replica.isUp = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#fetches) {
      server.closeAllConnections();
      server.close();
    }
    for (const server of this.#started) await server[Symbol.asyncDispose]();
    await this.keeper[Symbol.asyncDispose]();
  }
}
