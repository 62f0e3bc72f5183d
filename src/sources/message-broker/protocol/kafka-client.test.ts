/** A cluster returns the addresses of its brokers: an allowed seed must not lead to a refused address. */

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { answerOf, scriptedBroker } from "../../../../harness/kafka/scripted-broker.ts";
import { networkOf } from "../../../../harness/network/network.ts";
import { brokerAccessOf } from "../access.ts";
import { KafkaClient } from "./kafka-client.ts";
import { KafkaWireWriter } from "./wire.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(server: Server, host: string): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, host, done));
  return (server.address() as AddressInfo).port;
}

/** Answers every request with metadata: one topic, whose leader has the address that the test sets. */
function seed(leader: { host: string; port: number }): Server {
  return scriptedBroker(({ id }, socket) => {
    const body = new KafkaWireWriter(true).noTags().int32(0);
    body.array([leader], ({ host, port }) => body.int32(7).string(host).int32(port).string(null).noTags());
    body.string(null).int32(-1);
    body.array([0], () => {
      body.int16(0).string("t").uuid(null).boolean(false);
      body.array([0], () => {
        body.int16(0).int32(0).int32(7).int32(0);
        for (let list = 0; list < 3; list += 1) body.array([], () => {});
        body.noTags();
      });
      body.int32(0).noTags();
    });
    socket.write(answerOf(id, body.int16(0).noTags().content()));
  });
}

test("a broker that the cluster names is checked like those of the request", async () => {
  let connections = 0;
  const inner = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  const leader = { host: "127.0.0.2", port: await listen(inner, "127.0.0.2") };
  const port = await listen(seed(leader), "127.0.0.1");
  const client = new KafkaClient(
    brokerAccessOf({ brokers: `127.0.0.1:${port}`, topics: "t" }, networkOf(["127.0.0.1"])),
    "c",
  );
  const topics = await client.topics(["t"]);
  expect(topics[0]?.partitions).toEqual([{ partition: 0, leader: 7 }]);
  const failure = await client.offsets([{ topic: "t", partition: 0 }], "earliest").catch((error) => error);
  expect(failure).toMatchObject({ code: "SOURCE_ADDRESS_REFUSED" });
  expect(failure.message).toContain("127.0.0.2");
  expect(connections).toBe(0);
  await client.close();
});
