/**
 * The least that a front of the native protocol does, in a process of its own: it passes bytes on, judges nothing, and
 * gives each INSERT a connection of its own, which is opened and logged in ahead. It knows the one client of the
 * benchmark, whose queries come in a chunk each.
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

process.once("message", ({ port, revision }: { readonly port: number; readonly revision: number }) => {
  const server = createServer({ noDelay: true }, (client) => void serveClient(client, port, revision));
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit(0));

async function serveClient(client: Socket, port: number, revision: number): Promise<void> {
  client.on("error", () => {});
  const [hello] = (await once(client, "data")) as [Buffer];
  const kept = opened(port, client);
  kept.write(hello);
  const [addendum] = (await once(client, "data")) as [Buffer];
  kept.write(addendum);
  const login = { hello, addendum, revision };
  let spare = loggedIn(port, client, login);
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
        spare = loggedIn(port, client, login);
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
function opened(port: number, client: Socket, take?: (bytes: Buffer) => boolean): Socket {
  const reads = new LeasedReads((bytes) => {
    if (take?.(bytes) !== true) client.write(bytes, reads.hold());
  });
  const socket = connect({ host: "127.0.0.1", port, noDelay: true, onread: reads.onread });
  reads.socket = socket;
  socket.on("error", () => {});
  return socket;
}

async function loggedIn(port: number, client: Socket, { hello, addendum, revision }: Login): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let told = Buffer.alloc(0);
  let isIn = false;
  const socket = opened(port, client, (bytes) => {
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
