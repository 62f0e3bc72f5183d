/** Records that are damaged in transit or in the broker's storage. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { createRecordsBatch } from "@platformatic/kafka";
import { afterEach, expect, test } from "vitest";
import { allVersions, answerOf, scriptedBroker } from "../../../../harness/kafka/scripted-broker.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { brokerAccessOf } from "../access.ts";
import { AnswerMemory, noTopicId } from "../broker-client.ts";
import { KafkaClient } from "./kafka-client.ts";
import { emptyMessage, RecordCursor } from "./records.ts";
import { apis } from "./versions.ts";
import { KafkaWireWriter } from "./wire.ts";

const open: (Server | KafkaClient)[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const values = ["one", "two", "three"];
/** One batch for each value. */
const batches = values.map((value, offset) => {
  const batch = createRecordsBatch([{ topic: "t", value: Buffer.from(value), timestamp: 1n }]).buffer;
  batch.writeBigInt64BE(BigInt(offset + 7), 0);
  return Buffer.from(batch);
});
/** In the second batch. */
const records = (flipped?: number) => {
  const all = Buffer.concat(batches);
  const at = (batches[0] as Buffer).length + (flipped ?? 0);
  if (flipped !== undefined) all.writeUInt8(all.readUInt8(at) ^ 0x10, at);
  return all;
};

/** Serves the first response to the first fetch, then the next ones, and the last one from then on. */
async function clientOf(answers: readonly Buffer[]): Promise<{ client: KafkaClient; fetches: () => number }> {
  let fetches = 0;
  const offered = new Map([...allVersions, [1, { min: 0, max: 4 }] as const, [3, { min: 0, max: 4 }] as const]);
  const server = scriptedBroker(({ key, id }, socket) => {
    const to = new KafkaWireWriter().int32(0); // throttleTimeMs
    if (key === apis.metadata.key) {
      const { port } = server.address() as AddressInfo;
      to.array([port], (at) => to.int32(1).string("127.0.0.1").int32(at).string(null));
      to.string(null)
        .int32(1)
        .array([], () => {});
    } else {
      const content = answers[Math.min(fetches, answers.length - 1)] as Buffer;
      fetches += 1;
      to.array(["t"], (topic) => {
        to.string(topic).array([5], (partition) =>
          to.int32(partition).int16(0).int64(10).int64(10).int32(-1).bytes(content),
        );
      });
    }
    socket.write(answerOf(id, to.content()));
  }, offered).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new KafkaClient(brokerAccessOf({ brokers: `127.0.0.1:${port}`, topics: "t" }, anyNetwork), "test");
  open.unshift(client);
  await client.topics(["t"]);
  return { client, fetches: () => fetches };
}

const wanted = [{ topic: "t", topicId: noTopicId, partition: 5, position: 7 }];

function valuesOf(data: Buffer): string[] {
  const cursor = new RecordCursor(data, 0, [], { snappy: (bytes) => bytes, lz4: (bytes) => bytes });
  const found: string[] = [];
  for (const message = emptyMessage("t", 5); cursor.read(message); ) {
    found.push(message.bytes.toString("utf8", message.start, message.end));
  }
  return found;
}

test("records that were damaged on their way are fetched again", async () => {
  const { client, fetches } = await clientOf([records(70), records()]);
  const [fetched] = await client.fetch(1, wanted, 0, new AnswerMemory());
  expect(fetches()).toBe(2);
  expect(valuesOf(fetched?.records as Buffer)).toEqual(values);
});

// The producer's id, the number of records, the first byte of the records, and the last one.
test.each([43, 60, 61, (batches[1] as Buffer).length - 1])(
  "records that stay damaged (byte %i) are neither handed out nor skipped: the place is named",
  async (flipped) => {
    const { client, fetches } = await clientOf([records(flipped)]);
    await expect(client.fetch(1, wanted, 0)).rejects.toMatchObject({
      code: "SOURCE_INVALID",
      message: expect.stringContaining('topic "t", partition 5, offset 8'),
    });
    expect(fetches()).toBe(3);
  },
);

test("a batch that the answer's end cuts off is not judged", async () => {
  const { client, fetches } = await clientOf([records(70).subarray(0, -1 - (batches[2] as Buffer).length)]);
  const [fetched] = await client.fetch(1, wanted, 0);
  expect(fetches()).toBe(1);
  expect(valuesOf(fetched?.records as Buffer)).toEqual(["one"]);
});
