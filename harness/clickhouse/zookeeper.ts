/** Debian's ZooKeeper, which stands in for ClickHouse Keeper. Its data survives `kill` and `start`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { killChild } from "../kill.ts";
import { freePort } from "../network/free-port.ts";
import { untilAnswers } from "../until-answers.ts";

const jars = "/usr/share/java";
const needed =
  /^(zookeeper|zookeeper-jute|slf4j-api|slf4j-nop|netty-[a-z-]+|commons-cli|snappy-java|metrics-[a-z]+)\.jar$/;

/** Why it cannot be started here; undefined when it can. */
export const zooKeeperMissing = existsSync(join(jars, "zookeeper.jar"))
  ? undefined
  : "ZooKeeper is missing: apt-get install --no-install-recommends zookeeper";

export class TestZooKeeper implements AsyncDisposable {
  readonly port: number;
  readonly #dir = mkdtempSync(join(tmpdir(), "mr-zookeeper-"));
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(): Promise<TestZooKeeper> {
    const keeper = new TestZooKeeper(await freePort());
    await keeper.start();
    return keeper;
  }

  /** Resolves when it serves: it accepts connections sooner. */
  async start(): Promise<void> {
    const config = join(this.#dir, "zoo.cfg");
    const lines = [
      ...[
        "tickTime=500",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr",
        "clientPortAddress=127.0.0.1",
      ],
      ...[`dataDir=${this.#dir}/data`, `clientPort=${this.port}`],
    ];
    writeFileSync(config, lines.join("\n"));
    const classPath = readdirSync(jars)
      .filter((name) => needed.test(name))
      .map((name) => join(jars, name));
    const main = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
    const stdio = ["ignore", "pipe", "pipe"] as const;
    const child = spawn("java", ["-Xmx128m", "-cp", classPath.join(":"), main, config], { stdio: [...stdio] });
    this.#child = child;
    await untilAnswers("ZooKeeper", child, () => this.#serves());
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await killChild(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #serves(): Promise<boolean> {
    // While it starts it may accept a connection and never answer.
    const socket = connect({ port: this.port, host: "127.0.0.1", timeout: 500 });
    socket.on("timeout", () => socket.destroy());
    try {
      await once(socket, "connect");
      socket.write("srvr");
      return (await text(socket)).includes("Mode:");
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }
}
