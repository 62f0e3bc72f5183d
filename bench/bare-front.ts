/**
 * The least that a front does, in a process of its own: it passes bytes on, and judges nothing. With a `revision` it is
 * one of the native protocol, and gives each INSERT a connection of its own, which is opened and logged in ahead. It
 * knows the one client of the benchmark, whose queries come in a chunk each.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { LeasedReads } from "../src/endpoint/forward/read-buffers.ts";
import { Incomplete, Reader } from "../src/endpoint/native/codec.ts";
import { clientPackets, readServerHello } from "../src/endpoint/native/hello.ts";

const insert = Buffer.from("INSERT INTO");
/** Each query of the client says it, and none of its data does. */
const hostName = Buffer.from("host");

type Login = { readonly hello: Buffer; readonly addendum: Buffer; readonly revision: number };

type Start = { readonly engine: { readonly host: string; readonly port: number }; readonly revision?: number };

process.once("message", ({ engine, revision }: Start) => {
  const server = createServer({ noDelay: true }, (client) => {
    if (revision === undefined) relay(client, engine);
    else void serveClient(client, engine, revision);
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));

function relay(client: Socket, at: Start["engine"]): void {
  const engine = opened(
    at,
    client.on("error", () => {}),
  );
  client.on("data", (chunk: Buffer) => {
    if (!engine.write(chunk)) pauseFor(client, engine);
  });
  client.once("close", () => engine.end());
  engine.once("close", () => client.end());
}

async function serveClient(client: Socket, at: Start["engine"], revision: number): Promise<void> {
  client.on("error", () => {});
  const [hello] = (await once(client, "data")) as [Buffer];
  const kept = opened(at, client);
  kept.write(hello);
  const [addendum] = (await once(client, "data")) as [Buffer];
  kept.write(addendum);
  const login = { hello, addendum, revision };
  let spare = loggedIn(at, client, login);
  let current = kept;
  const goTo = (next: Socket) => {
    if (current !== kept) current.end();
    current = next;
  };
  client.on("data", (chunk: Buffer) => {
    if (chunk[0] !== clientPackets.query || !chunk.includes(hostName)) {
      if (!current.write(chunk)) pauseFor(client, current);
    } else if (!chunk.includes(insert)) {
      goTo(kept);
      kept.write(chunk);
    } else {
      client.pause();
      void spare.then((own) => {
        goTo(own);
        own.write(chunk);
        client.resume();
        spare = loggedIn(at, client, login);
      });
    }
  });
  client.once("close", () => kept.end());
}

function pauseFor(client: Socket, engine: Socket): void {
  client.pause();
  engine.once("drain", () => client.resume());
}

/** What the engine sends goes to the client, unless `take` looks at it first. */
function opened(at: Start["engine"], client: Socket, take?: (bytes: Buffer) => boolean): Socket {
  const reads = new LeasedReads((bytes) => {
    if (take?.(bytes) !== true) client.write(bytes, reads.hold());
  });
  const socket = connect({ ...at, noDelay: true, onread: reads.onread });
  reads.socket = socket;
  socket.on("error", () => {});
  return socket;
}

async function loggedIn(at: Start["engine"], client: Socket, { hello, addendum, revision }: Login): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let told = Buffer.alloc(0);
  let isIn = false;
  const socket = opened(at, client, (bytes) => {
    if (isIn) return false;
    told = Buffer.concat([told, bytes]);
    try {
      readServerHello(new Reader(told), revision);
      isIn = true;
      resolve();
    } catch (error) {
      if (!(error instanceof Incomplete)) throw error;
    }
    return true;
  });
  await once(socket, "connect");
  socket.write(hello);
  await promise;
  socket.write(addendum);
  return socket;
}
