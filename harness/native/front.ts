/**
 * The front of the native protocol before a bare engine: statements are judged, sealed and run as in an engine host.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Logins } from "../../src/endpoint/auth/logins.ts";
import { serverPackets } from "../../src/endpoint/native/hello.ts";
import { Splicer } from "../../src/endpoint/splice/splicer.ts";
import { DiskQuota } from "../../src/engine/disk-quota.ts";
import { askerAs } from "../../src/engine/native/ask-as.ts";
import { SealedPool } from "../../src/engine/native/sealed-pool.ts";
import { NativeService } from "../../src/engine/native/service.ts";
import { Guard } from "../../src/engine/sql/guard.ts";
import { guardQueryOf } from "../../src/engine/sql/judge.ts";
import { createLogger } from "../../src/lib/logger.ts";
import type { BareEngine } from "../engine/bare-engine.ts";
import { until } from "../serve.ts";
import { emptyData, NativeClient, newest, type QueryParts, queryPacket } from "./client.ts";

const password = "p";
const users = ["default", "reader"].map((name) => ({ name, readonly: name === "reader" }));

type Connection = { readonly socket: Socket; running: boolean; hasRun: boolean };

export type FrontAnswer = {
  /** Every byte of it, uncompressed. */
  readonly bytes: Buffer;
  /** False: the engine was not asked to run it. */
  readonly hasRun: boolean;
};

export class NativeFront implements AsyncDisposable {
  readonly #server: Server;
  /** By the port of the client. */
  readonly #connections = new Map<number, Connection>();

  private constructor(service: NativeService) {
    const passwordSha256Hex = createHash("sha256").update(password).digest("hex");
    const facts = {
      ...{ id: "front", ipAccessList: [{ source: "0.0.0.0/0" }] },
      users: users.map((user) => ({ ...user, passwordSha256Hex })),
    };
    const logins = new Logins({ facts });
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      const connection: Connection = { socket, running: false, hasRun: false };
      this.#connections.set(socket.remotePort as number, connection);
      socket.on("error", () => {}).once("close", () => this.#connections.delete(socket.remotePort as number));
      service.serve(socket, {
        ...{ logins, session: undefined, ahead: Buffer.alloc(0) },
        onSession: () => {},
        onBusy: () => {},
        onStatement: () => {},
        onRunning: (running) => {
          connection.running = running;
          connection.hasRun ||= running;
        },
      });
    });
  }

  static async start(engine: BareEngine): Promise<NativeFront> {
    const { client } = engine;
    const { host, port, password: key = "" } = engine.addressOf("default");
    const guardQuery = guardQueryOf(client);
    const service = new NativeService({
      ...{
        client,
        guardQuery,
        users,
        guard: new Guard({ guardQuery }),
        disk: new DiskQuota({ usedBytes: undefined, limitBytes: undefined }),
      },
      displayName: "front",
      splicer: new Splicer(),
      pool: new SealedPool(engine.nativeAddress, (sql) => client.text(sql)),
      changeAccess: async () => {},
      askAs: askerAs({ host, port, key }),
      logger: createLogger("silent"),
    });
    const front = new NativeFront(service);
    front.#server.listen(0, "127.0.0.1");
    await once(front.#server, "listening");
    return front;
  }

  async connect(user: string, revision = newest): Promise<NativeClient> {
    const { port } = this.#server.address() as AddressInfo;
    return await NativeClient.connect({ port, user, password, revision });
  }

  /** Runs a statement on a connection of its own. An INSERT (`endsData`) gets no data but what its text has. */
  async run(user: string, text: string, parts: QueryParts, { endsData = false } = {}): Promise<FrontAnswer> {
    const client = await this.connect(user);
    const { localPort = 0, bytesRead } = client.socket;
    const chunks: Buffer[] = [];
    client.socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    const connection = this.#connections.get(localPort) as Connection;
    client.send(queryPacket(text, client.revision, parts), emptyData, ...(endsData ? [emptyData] : []));
    try {
      await until(`an answer to ${JSON.stringify(text)} over native`, async () => {
        const { running, socket } = connection;
        const hasAll = client.socket.bytesRead === socket.bytesWritten && client.socket.bytesRead > bytesRead;
        // The session that a temporary table needs counts as running. Its answers end as the front guesses, too.
        const seemsOver =
          chunks[0]?.[0] === serverPackets.exception || chunks.at(-1)?.at(-1) === serverPackets.endOfStream;
        return socket.destroyed || (hasAll && (!running || seemsOver));
      });
    } finally {
      client.close();
    }
    return { bytes: Buffer.concat(chunks), hasRun: connection.hasRun };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.#connections.values()) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
