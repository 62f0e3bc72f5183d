/**
 * What an engine host does besides running the server: it judges stored definitions, opens the query service for
 * clients' requests, and monitors the server. Loaded while the server starts in its thread.
 */
import type { Socket } from "node:net";
import { join } from "node:path";
import { setDefaultHighWaterMark } from "node:stream";
import { Upstream } from "../endpoint/forward/upstream.ts";
import { loopbackConnector } from "../endpoint/forward/upstream-connection.ts";
import { AccessChanges } from "../endpoint/handoff/access-changes.ts";
import { listenForGateway } from "../endpoint/handoff/gateway-listener.ts";
import type { FromHost, ToHost } from "../endpoint/handoff/messages.ts";
import { HandoffReceiver } from "../endpoint/handoff/receiver.ts";
import { Splicer } from "../endpoint/splice/splicer.ts";
import { hasUserFunctions } from "../engine/chdb/configuration.ts";
import { connectServer } from "../engine/chdb/connect.ts";
import { watchDisk } from "../engine/chdb/disk-used.ts";
import { killQuery } from "../engine/chdb/kill.ts";
import { untilUnresponsive } from "../engine/chdb/liveness.ts";
import type { ServerThread } from "../engine/chdb/server.ts";
import { outOfUseIn } from "../engine/chdb/unloadable.ts";
import type { EngineUser } from "../engine/chdb/users.ts";
import { DiskQuota, type DiskUse } from "../engine/disk-quota.ts";
import { QueryService } from "../engine/http/query-service.ts";
import { AsyncInserts } from "../engine/inserts/async-inserts.ts";
import { engineInserter } from "../engine/inserts/engine-insert.ts";
import { askerAs } from "../engine/native/ask-as.ts";
import { SealedPool } from "../engine/native/sealed-pool.ts";
import { NativeService } from "../engine/native/service.ts";
import { Guard } from "../engine/sql/guard.ts";
import { guardQueryOf, statementJudge } from "../engine/sql/judge.ts";
import { judgeStored } from "../engine/sql/stored.ts";
import type { LineLogger } from "../lib/deferred-logger.ts";

// A larger high-water mark than the default 64 KiB: otherwise every chunk waits until the previous one is sent. Set for
// all streams, because the mark of a handed-over connection cannot be set individually.
setDefaultHighWaterMark(false, 1_048_576);

/** Keeps asynchronous inserts that were answered, in the data directory. */
const insertsFolder = "async_inserts";

export type ServingOptions = {
  readonly dataDir: string;
  readonly runDir: string;
  /** Loopback address and port of the engine's HTTP interface. */
  readonly host: string;
  readonly port: number;
  /** The engine's native protocol. */
  readonly native: { readonly port: number; readonly secret: string };
  readonly forwardPort: number;
  readonly key: string;
  readonly displayName: string;
  readonly users: readonly EngineUser[];
  readonly disk: DiskUse;
  readonly logger: LineLogger;
};

export type Serving = {
  /** Flushes acknowledged asynchronous inserts. */
  flush(): Promise<unknown>;
  /** Resolves with a sentence when the engine no longer answers. */
  readonly broken: Promise<string>;
};

/**
 * Resolves when clients can be served, after reporting it to the control plane. Rejects when the server cannot be used.
 */
export async function serveClients(thread: ServerThread, options: ServingOptions): Promise<Serving> {
  const { dataDir, runDir, host, port, key, users, logger } = options;
  const { client, version } = await connectServer(thread, { host, port, key });
  const guard = new Guard({ guardQuery: guardQueryOf(client) });
  const forbidden = await judgeStored(client, guard, { hasFunctions: hasUserFunctions(dataDir) });
  for (const one of forbidden) {
    logger.warn(one, "a stored definition holds what is not available, and was taken out of use");
  }
  const unloaded = outOfUseIn(dataDir);
  for (const table of unloaded) logger.warn(table, "the engine cannot load this table, which is out of use");
  const disk = new DiskQuota(options.disk);
  const access = new AccessChanges((message) => process.send?.(message, undefined, {}, () => {}));
  const upstream = new Upstream(loopbackConnector(port, host));
  const insert = engineInserter(upstream, key);
  const inserts = await AsyncInserts.open({ insert, folder: join(dataDir, insertsFolder), logger }).catch((err) => {
    logger.error({ err }, "the log of asynchronous inserts cannot be read: inserts run as they come");
    return undefined;
  });
  const splicer = new Splicer();
  const queries = new QueryService({
    ...{ upstream, inserts, splicer },
    key,
    users,
    judge: statementJudge(guard),
    disk,
    changeAccess: (change) => access.apply(change),
    kill: (user, queryId) => killQuery(client, user, queryId),
  });
  const native = new NativeService({
    ...{ client, guard, guardQuery: guardQueryOf(client), users, disk, splicer, logger },
    displayName: options.displayName,
    pool: new SealedPool({ host, key, ...options.native }, (sql) => client.text(sql)),
    changeAccess: (change) => access.apply(change),
    askAs: askerAs({ host, port, key }),
  });
  const receiver = new HandoffReceiver({ queries, native, logger, runDir });
  await listenForGateway({ port: options.forwardPort, key }, queries, logger, (...piped) =>
    receiver.takePiped(...piped),
  );
  process.on("message", (message: ToHost, socket: Socket | undefined) => {
    if (message.type === "disk") disk.limitBytes = message.limitBytes ?? undefined;
    else if (message.type === "accessChanged") access.onAnswer(message);
    else receiver.onMessage(message, socket);
  });
  const tell = (message: FromHost) => process.send?.(message, undefined, {}, () => {});
  process.send?.({ type: "ready", version, outOfUse: [...unloaded, ...forbidden].slice(0, 100) });
  void watchDisk(client, dataDir, (usedBytes) => {
    disk.usedBytes = usedBytes;
    tell({ type: "disk", usedBytes });
    if (inserts !== undefined) tell({ type: "inserts", numbers: inserts.numbers });
  });
  return { flush: async () => await inserts?.flush(), broken: untilUnresponsive(client) };
}
