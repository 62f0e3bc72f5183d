/** Answers of a broker that lies: nothing is believed that costs memory, time, or rows. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { allVersions, answerOf, scriptedBroker } from "../../../../harness/kafka/scripted-broker.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { brokerAccessOf } from "../access.ts";
import { noTopicId } from "../broker-client.ts";
import { Membership } from "../group/membership.ts";
import { KafkaClient } from "./kafka-client.ts";
import { logIn } from "./login.ts";
import type { OfferedVersions } from "./versions.ts";
import { apis } from "./versions.ts";
import { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

type Answers = Partial<Record<number, (to: KafkaWireWriter) => void>>;

/** Answers metadata with one broker, which it is itself or which has the port, and other requests as given. */
async function brokerOf(answers: Answers, named?: number): Promise<{ port: number; asked: number[] }> {
  const asked: number[] = [];
  const old: OfferedVersions = new Map([
    ...allVersions,
    [apis.fetch.key, { min: 0, max: 4 }] as const,
    [apis.metadata.key, { min: 0, max: 4 }] as const,
    [apis.listOffsets.key, { min: 0, max: 2 }] as const,
    [apis.findCoordinator.key, { min: 0, max: 1 }] as const,
    [apis.joinGroup.key, { min: 0, max: 5 }] as const,
  ]);
  const server: Server = scriptedBroker(({ key, id }, socket) => {
    asked.push(key);
    const to = new KafkaWireWriter().int32(0); // throttleTimeMs
    const { port } = server.address() as AddressInfo;
    const address = () => to.string("127.0.0.1").int32(named ?? port);
    if (answers[key] !== undefined) answers[key](to);
    else if (key === apis.findCoordinator.key) {
      to.int16(0).string(null).int32(1);
      address();
    } else {
      to.array([0], () => {
        to.int32(1);
        address().string(null);
      });
      to.string(null).int32(1);
      to.array(["t"], (topic) => {
        to.int16(0).string(topic).boolean(false);
        to.array([0], (partition) => {
          to.int16(0).int32(partition).int32(1);
          to.array([], () => {}).array([], () => {});
        });
      });
    }
    socket.write(answerOf(id, to.content()));
  }, old).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, asked };
}

async function clientOf(answers: Answers, named?: number): Promise<KafkaClient> {
  const { port } = await brokerOf(answers, named);
  const client = new KafkaClient(brokerAccessOf({ brokers: `127.0.0.1:${port}`, topics: "t" }, anyNetwork), "test");
  open.unshift(client);
  await client.topics(["t"]);
  return client;
}

const notUnderstood = { code: "SOURCE_UNREACHABLE", message: expect.stringContaining("cannot be understood") };
const wanted = [{ topic: "t", topicId: noTopicId, partition: 0, position: 7 }];

test.each<[string, readonly (readonly [string, number])[]]>([
  [
    "twice, which would double its records,",
    [
      ["t", 0],
      ["t", 0],
    ],
  ],
  ["that was not asked for", [["t", 1]]],
  ["of another topic", [["u", 0]]],
])("an answer for a partition %s is refused", async (_, partitions) => {
  const client = await clientOf({
    [apis.fetch.key]: (to) =>
      void to.array(partitions, ([topic, partition]) => {
        to.string(topic).array([partition], (one) => {
          to.int32(one).int16(0).int64(10).int64(10).int32(-1).bytes(Buffer.alloc(0));
        });
      }),
  });
  await expect(client.fetch(1, wanted, 0)).rejects.toMatchObject(notUnderstood);
});

test.each([
  ["of more than 53 bits", Buffer.from("7fffffffffffffff", "hex")],
  ["below all offsets", Buffer.from("8000000000000000", "hex")],
])("an offset %s is refused", async (_, offset) => {
  const client = await clientOf({
    [apis.listOffsets.key]: (to) =>
      void to.array(["t"], (topic) => {
        to.string(topic).array([0], (partition) => {
          to.int32(partition).int16(0).int64(0);
          to.int32(offset.readInt32BE(0)).int32(offset.readInt32BE(4));
        });
      }),
  });
  await expect(client.offsets([{ topic: "t", partition: 0 }], "latest")).rejects.toMatchObject(notUnderstood);
});

test("more aborted transactions than an answer has room for are refused", async () => {
  const client = await clientOf({
    [apis.fetch.key]: (to) =>
      void to.array(["t"], (topic) => {
        to.string(topic).array([0], (partition) => {
          to.int32(partition).int16(0).int64(10).int64(10);
          to.array(new Array(200_001).fill(0), () => to.int64(1).int64(1));
          to.bytes(Buffer.alloc(0));
        });
      }),
  });
  await expect(client.fetch(1, wanted, 0)).rejects.toMatchObject(notUnderstood);
});

test.each([0, -1, 65_536, 2 ** 31 - 1])("a broker that is announced at port %i is unreachable", async (port) => {
  const client = await clientOf({}, port);
  await expect(client.offsets([{ topic: "t", partition: 0 }], "latest")).rejects.toMatchObject(notUnderstood);
});

test.each([100 * 2 ** 20, 2 ** 30])(
  "an answer of %i bytes to a small request is refused before it comes",
  async (size) => {
    const server: Server = scriptedBroker(({ id }, socket) => {
      const head = Buffer.alloc(8);
      head.writeInt32BE(size, 0);
      head.writeInt32BE(id, 4);
      socket.write(head);
    }).listen(0, "127.0.0.1");
    open.push(server);
    await once(server, "listening");
    const brokers = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new KafkaClient(brokerAccessOf({ brokers, topics: "t" }, anyNetwork), "test");
    open.unshift(client);
    await expect(client.topics(["t"])).rejects.toMatchObject(notUnderstood);
  },
);

test.each(["2147483647", "1000001", "1", "x"])(
  "SCRAM with %s iterations is refused before they are made",
  async (i) => {
    const asked: string[] = [];
    const connection = {
      send: async <T>(call: {
        api: { name: string };
        write(to: KafkaWireWriter, v: number): void;
        read(from: KafkaWireReader, v: number): T;
      }) => {
        asked.push(call.api.name);
        const sent = new KafkaWireWriter();
        call.write(sent, 0);
        const nonce = /r=(.*)$/.exec(sent.content().toString())?.[1];
        const to = new KafkaWireWriter().int16(0);
        if (call.api.name === "SaslHandshake") return call.read(new KafkaWireReader(to.content()), 0);
        to.string(null).bytes(Buffer.from(`r=${nonce}x,s=c2FsdA==,i=${i}`));
        return call.read(new KafkaWireReader(to.content()), 0);
      },
    };
    const login = { mechanism: "SCRAM-SHA-256", username: "u", password: "p" } as const;
    await expect(logIn(connection, login)).rejects.toMatchObject({ code: "SOURCE_UNAUTHORIZED" });
    expect(asked).toEqual(["SaslHandshake", "SaslAuthenticate"]);
  },
);

test("a group that never settles is asked a few times, not without pause", async () => {
  const rebalancing = (to: KafkaWireWriter) =>
    void to
      .int16(27)
      .int32(-1)
      .string("")
      .string("")
      .string("")
      .array([], () => {});
  const { port, asked } = await brokerOf({ [apis.joinGroup.key]: rebalancing });
  const membership = new Membership({
    access: brokerAccessOf({ brokers: `127.0.0.1:${port}`, topics: "t" }, anyNetwork),
    group: "g",
    topics: ["t"],
    pipeId: "p",
    replica: { index: 0, count: 1 },
    onRebalance: () => {},
  });
  open.unshift({ close: () => membership.leave() });
  await expect.poll(() => asked.filter((key) => key === apis.joinGroup.key).length, { timeout: 20_000 }).toBe(2);
  const joins = () => asked.filter((key) => key === apis.joinGroup.key).length;
  const before = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(joins()).toBeLessThan(3 + (performance.now() - before) / 100);
});
