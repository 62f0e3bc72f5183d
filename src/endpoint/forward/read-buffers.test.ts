import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acquireBuffer, LeasedReads } from "./read-buffers.ts";

const large = 1_048_576;

let server: Server;
const sockets: Socket[] = [];
beforeEach(async () => {
  server = createServer((socket) => void socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

async function read(connections: number): Promise<void> {
  const { port } = server.address() as AddressInfo;
  for (let i = 0; i < connections; i += 1) {
    const reads = new LeasedReads(() => {});
    const socket = connect({ port, host: "127.0.0.1", onread: reads.onread });
    reads.socket = socket;
    sockets.push(socket);
    await once(socket, "connect");
  }
}

test("many connections read into small buffers, and a few into large ones again", async () => {
  await read(100);
  expect(acquireBuffer(large).length).toBe(65_536);
  const closed = sockets.map((socket) => once(socket, "close"));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  expect(acquireBuffer(large).length).toBe(large);
});
