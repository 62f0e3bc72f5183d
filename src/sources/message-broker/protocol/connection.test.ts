/**
 * A connection against a small server in this process, which answers as each test says and splits its responses
 * anywhere.
 */
import type { Server, Socket } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { allVersions, answerOf as answer, scriptedBroker } from "../../../../harness/kafka/scripted-broker.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { AnswerMemory } from "../broker-client.ts";
import { brokerSourceError } from "../failures.ts";
import type { Api, Call } from "./call.ts";
import { Connection } from "./connection.ts";
import { commitOffsets, fetchRecords, metadata } from "./requests.ts";
import { apis, isFlexible, type OfferedVersions } from "./versions.ts";
import { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

let server: Server | undefined;
const sockets: Socket[] = [];
const connections: Connection[] = [];
const echoApi: Api = { key: 99, name: "Echo", min: 0, max: 0 };
afterEach(() => {
  for (const connection of connections.splice(0)) connection.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** Calls `onRequests` with the ids of the requests received so far. */
async function connected(
  onRequests: (ids: readonly number[], socket: Socket) => void,
  offered: OfferedVersions = new Map([...allVersions, [echoApi.key, echoApi]]),
): Promise<Connection> {
  const ids: number[] = [];
  const opened = scriptedBroker(({ id }, socket) => {
    ids.push(id);
    onRequests(ids, socket);
  }, offered).listen(0, "127.0.0.1");
  opened.on("connection", (socket) => sockets.push(socket));
  server = opened;
  await new Promise((resolve) => opened.once("listening", resolve));
  const { port } = opened.address() as { port: number };
  const access = { brokers: [], dialer: new Dialer(anyNetwork.policy, "brokers") };
  const connection = await Connection.open({ host: "127.0.0.1", port }, access, "test");
  connections.push(connection);
  return connection;
}

/** A request whose response is bytes. */
const echo = (memory?: AnswerMemory): Call<string> => ({
  api: echoApi,
  write: () => {},
  read: (from) => from.bytes().toString(),
  memory: memory && ((bytes) => memory.take(bytes)),
});
const bytesOf = (text: string) => new KafkaWireWriter().bytes(Buffer.from(text)).content();

test("answers arrive whole and in order wherever they are cut, small ones and large ones", async () => {
  const text = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.nat({ max: 200_000 }).map((size) => "x".repeat(size)),
  );
  const texts = fc.array(text, { minLength: 1, maxLength: 4 });
  const cuts = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(texts, cuts, async (wanted, sizes) => {
      let answered = false;
      const connection = await connected(async (ids, socket) => {
        if (ids.length < wanted.length || answered) return;
        answered = true;
        const all = Buffer.concat(ids.map((id, at) => answer(id, bytesOf(wanted[at] as string))));
        for (let at = 0, turn = 0; at < all.length; turn += 1) {
          const size = sizes[turn % sizes.length] as number;
          socket.write(all.subarray(at, at + size));
          at += size;
          if (turn % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      });
      const memories = wanted.map((_, at) => (at % 2 === 0 ? new AnswerMemory() : undefined));
      expect(await Promise.all(memories.map((memory) => connection.send(echo(memory))))).toEqual(wanted);
      connection.close();
      server?.close();
    }),
    { numRuns: 40 },
  );
});

test("an answer lies in the memory given, which the next one overwrites", async () => {
  const connection = await connected((ids, socket) => {
    const id = ids.at(-1) as number;
    socket.write(answer(id, bytesOf(`answer ${ids.length}`)));
  });
  const memory = new AnswerMemory();
  const view: Call<Buffer> = { ...echo(memory), read: (from) => from.bytes() };
  const first = await connection.send(view);
  expect(first.toString()).toBe("answer 1");
  await connection.send(view);
  expect(first.toString()).toBe("answer 2");
});

test.each([
  ["closes", (socket: Socket) => socket.destroy(), /127.0.0.1:\d+ closes the connection/],
  ["wants TLS", (socket: Socket) => socket.write(Buffer.from([0x15, 3, 3, 0, 2, 2, 40, 0])), /127.0.0.1:\d+ wants TLS/],
  ["speaks something else", (socket: Socket) => socket.write("HTTP/1.1 400 Bad Request\r\n"), /cannot be understood/],
  ["answers what was not asked", (socket: Socket) => socket.write(answer(77, bytesOf(""))), /cannot be understood/],
])("a server that %s fails what is waiting, with the reason", async (_, act, reason) => {
  const connection = await connected((ids, socket) => {
    if (ids.length === 2) act(socket);
  });
  const failures = await Promise.all([echo(), echo()].map((call) => connection.send(call).catch(brokerSourceError)));
  for (const failure of failures) expect(failure).toMatchObject({ code: "SOURCE_UNREACHABLE", message: reason });
  expect(connection.usable).toBe(false);
  await expect(connection.send(echo())).rejects.toThrow();
});

test("an answer that ends too early is refused, and the connection goes on", async () => {
  const connection = await connected((ids, socket) => {
    const body = ids.length === 1 ? Buffer.from([0, 0, 1, 0, 65]) : bytesOf("whole");
    socket.write(answer(ids.at(-1) as number, body));
  });
  expect(brokerSourceError(await connection.send(echo()).catch((error: unknown) => error))).toMatchObject({
    message: /cannot be understood/,
  });
  expect(await connection.send(echo())).toBe("whole");
});

test.each([false, true])("a request is written whole, however long it is (flexible: %s)", (flexible) => {
  const long = fc.string({ maxLength: 3_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(long, fc.nat(), fc.uuid()), { maxLength: 20 }), (items) => {
      const to = new KafkaWireWriter(flexible);
      to.array(items, ([text, number, id]) => {
        to.string(text)
          .int32(number)
          .int64(number)
          .uuid(id)
          .bytes(Buffer.from(text))
          .boolean(true)
          .string(null)
          .noTags();
      });
      const from = new KafkaWireReader(to.content(), flexible);
      const read = from.array(() => {
        const item = [
          from.string(),
          from.int32(),
          Number(from.int64()),
          from.uuid(),
          String(from.bytes()),
          from.int8(),
        ];
        expect(from.nullableString()).toBe(null);
        from.tags();
        return item;
      });
      expect(read).toEqual(items.map(([text, number, id]) => [text, number, number, id, text, 1]));
      expect(from.left).toBe(0);
    }),
  );
});

test("an error of the protocol is named", () => {
  const refused = new KafkaWireWriter(true);
  refused.int32(0).array([0], (partition) => {
    refused.string("topic").array([0], () => refused.int32(partition).int16(30).noTags());
  });
  const identity = { generation: 1, member: "m", instance: null };
  const { read } = commitOffsets("group", [], identity);
  const failure = (() => {
    try {
      return read(new KafkaWireReader(refused.content(), true), apis.offsetCommit.max);
    } catch (error) {
      return brokerSourceError(error);
    }
  })();
  expect(failure).toMatchObject({ message: "The broker answers with the error GROUP_AUTHORIZATION_FAILED." });
});

test("what hostile bytes say is read as an error, not as something else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(20), (bytes, at) => {
      for (const { api, read } of [metadata(["t"]), fetchRecords([], 0, undefined)]) {
        const version = Math.min(api.max, api.min + at);
        try {
          read(new KafkaWireReader(Buffer.from(bytes), isFlexible(api, version)), version);
        } catch (error) {
          expect(error).toSatisfy((known) => known instanceof RangeError || "code" in (known as object));
        }
      }
    }),
  );
});
