/** Brokers of several versions: which request versions are used with each, and the error for an unsupported broker. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  allVersions,
  answerOf,
  type BrokerRequest,
  scriptedBroker,
} from "../../../../harness/kafka/scripted-broker.ts";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { noTopicId } from "../broker-client.ts";
import { Connection } from "./connection.ts";
import { fetchRecords, findCoordinator, metadata } from "./requests.ts";
import { apis, commonVersion, type OfferedVersions } from "./versions.ts";
import { KafkaWireReader, KafkaWireWriter } from "./wire.ts";

const open: (Server | Connection)[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

const offering = (...ranges: [key: number, min: number, max: number][]): OfferedVersions =>
  new Map([...allVersions, ...ranges.map(([key, min, max]) => [key, { min, max }] as const)]);

/** Answers with the address of a coordinator, in the form before version 4. */
async function connected(offered: OfferedVersions): Promise<{ connection: Connection; asked: BrokerRequest[] }> {
  const asked: BrokerRequest[] = [];
  const server = scriptedBroker((request, socket) => {
    asked.push(request);
    const body = new KafkaWireWriter(request.version >= 3);
    body.noTags().int32(0).int16(0).string(null).int32(1).string("host").int32(9).noTags();
    socket.write(answerOf(request.id, body.content()));
  }, offered).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const access = { brokers: [], dialer: new Dialer(anyNetwork.policy, "brokers") };
  const connection = await Connection.open({ host: "127.0.0.1", port }, access, "test");
  open.push(connection);
  return { connection, asked };
}

test.each([
  ["only knows older versions", offering([10, 0, 1]), 1],
  ["has dropped older versions", offering([10, 3, 3]), 3],
  ["answers questions about its versions only in their first form", offering([18, 0, 2], [10, 0, 2]), 2],
])("a broker that %s is spoken to in a version that both know", async (_, offered, version) => {
  const { connection, asked } = await connected(offered);
  expect(await connection.send(findCoordinator("group"))).toEqual({ host: "host", port: 9 });
  expect(asked).toMatchObject([{ key: 10, version }]);
});

test("a broker that is newer than this client is spoken to in the newest version that the client knows", () => {
  const future = new Map([...allVersions].map(([key, { max }]) => [key, { min: max, max: max + 7 }] as const));
  for (const api of Object.values(apis)) expect(commonVersion(api, future), api.name).toBe(api.max);
});

test.each([
  [
    "too old",
    offering([1, 0, 3]),
    "The broker offers the versions 0 to 3 of the request Fetch; a version from 4 to 18 is",
  ],
  [
    "too new",
    offering([1, 20, 22]),
    "The broker offers the versions 20 to 22 of the request Fetch; a version from 4 to 18 is",
  ],
  [
    "not a log",
    new Map([[18, { min: 0, max: 3 }]]),
    "The broker does not offer the request Fetch; a version from 4 to 18 is",
  ],
])("a broker that is %s is refused with the request, its versions and ours", async (_, offered, sentence) => {
  const { connection, asked } = await connected(offered);
  await expect(connection.send(fetchRecords([], 0, undefined))).rejects.toMatchObject({
    code: "SOURCE_INVALID",
    message: `${sentence} needed.`,
    issues: [{ path: "source.messageBroker.brokers" }],
  });
  expect(asked).toEqual([]);
  expect(connection.usable).toBe(true);
});

test("topics without an id are read in the last version that knows names", () => {
  const wanted = (topicId: string) => fetchRecords([{ topic: "t", topicId, partition: 0, position: 0 }], 0, undefined);
  const versionOf = ({ api, newest }: ReturnType<typeof wanted>, offered = allVersions) =>
    commonVersion(api, offered, newest);
  expect(versionOf(wanted(noTopicId))).toBe(12);
  expect(versionOf(wanted("3f0c1f6e-0000-0000-0000-000000000001"))).toBe(18);
  expect(() => versionOf(wanted(noTopicId), offering([1, 13, 18]))).toThrow(/a version from 4 to 12 is needed/);
});

test("before version 10 topics have no id", () => {
  const body = (version: number) => {
    const to = new KafkaWireWriter(version >= 9).int32(0);
    to.array([], () => {})
      .string(null)
      .int32(1);
    to.array(["t"], (name) => {
      to.int16(0).string(name);
      if (version >= 10) to.uuid("3f0c1f6e-0000-0000-0000-000000000001");
      to.boolean(false)
        .array([], () => {})
        .int32(0)
        .noTags();
    });
    return to.int32(0).noTags().content();
  };
  const idIn = (version: number) =>
    metadata(["t"]).read(new KafkaWireReader(body(version), version >= 9), version).topics[0]?.id;
  expect(idIn(9)).toBe(noTopicId);
  expect(idIn(10)).toBe("3f0c1f6e-0000-0000-0000-000000000001");
});
