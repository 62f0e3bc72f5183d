/** Bytes of a client that are passed on to another connection, which takes them slowly. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { PacketInput } from "./input.ts";

const data = Buffer.alloc(32 * 1_048_576);
for (let at = 0; at < data.length; at += 4) data.writeUInt32LE((at * 2_654_435_761) >>> 0, at);

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Both ends of a connection. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const here = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [there] = (await once(server, "connection")) as [Socket];
  server.close();
  sockets.push(here, there);
  return [here, there];
}

/** A client whose bytes are passed on, up to the point where the other side, which reads nothing, takes no more. */
async function held() {
  const [sender, client] = await pair();
  const [into, receiver] = await pair();
  const input = new PacketInput(client);
  const most = { waiting: 0 };
  const paused = once(client, "pause");
  input.passTo((chunk) => {
    into.write(chunk);
    most.waiting = Math.max(most.waiting, into.writableLength);
  }, into);
  sender.end(data);
  client.once("end", () => into.end());
  await paused;
  return { input, receiver, most };
}

test("a client is read no faster than the other side takes its bytes, and all of them arrive", async () => {
  const { receiver, most } = await held();
  expect((await buffer(receiver)).equals(data)).toBe(true);
  expect(most.waiting).toBeLessThan(1_048_576);
});

test("a client is read again when its bytes are no longer passed on", async () => {
  const { input } = await held();
  input.passTo(undefined);
  const next = await input.read((reader) => reader.bytes(1_048_576), { packet: data.length, string: 0 });
  expect(data.includes(next.subarray(0, 4_096))).toBe(true);
});

test("a client is read again although that was asked for before it was stopped", async () => {
  const [sender, client] = await pair();
  const input = new PacketInput(client);
  const stopping = input.stopReading();
  input.readAgain(0);
  expect((await stopping)?.()).toBe(true);
  input.readAgain(0);
  sender.write("x");
  await input.begin();
  expect(input.received).toBe(1);
});
