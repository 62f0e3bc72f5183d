/** What a real server says of its cluster. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestServer } from "../../harness/clickhouse/server.ts";
import { tableFormOf } from "./table-form.ts";
import { detectTopology, replicasOf, shardsOf } from "./topology.ts";

let server: TestServer;

beforeAll(async () => {
  const replica = (port: number) => `<replica><host>127.0.0.1</host><port>${port}</port></replica>`;
  server = await TestServer.start({
    configuration: [
      "<macros><cluster>four</cluster><shard>01</shard><replica>r1</replica></macros>",
      `<remote_servers><four><shard>${replica(1)}${replica(2)}</shard><shard>${replica(3)}${replica(4)}</shard></four>
       <lone><shard>${replica(1)}</shard><shard>${replica(2)}</shard></lone></remote_servers>`,
    ],
  });
});
afterAll(() => server?.[Symbol.asyncDispose]());

test("a server without a named cluster is plain", async () => {
  const found = await detectTopology(server.client, { database: "default" });
  expect(found).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\./),
    cluster: undefined,
    macros: { cluster: "four", shard: "01", replica: "r1" },
    isCloud: false,
    hasKeeper: false,
  });
  expect(tableFormOf(found).kind).toBe("plain");
});

test("a named cluster has its shards and replicas", async () => {
  const found = await detectTopology(server.client, { database: "missing", cluster: "four" });
  expect(found.databaseEngine).toBeUndefined();
  expect(found.cluster?.hosts.map(({ shard, replica, port }) => [shard, replica, port])).toEqual([
    [1, 1, 1],
    [1, 2, 2],
    [2, 1, 3],
    [2, 2, 4],
  ]);
  expect([shardsOf(found), replicasOf(found)]).toEqual([2, 2]);
});

test("replicas need Keeper, and shards without replicas do not", async () => {
  const four = await detectTopology(server.client, { database: "default", cluster: "four" });
  expect(() => tableFormOf(four)).toThrow("four has replicas, but the server is not connected to ClickHouse Keeper");
  const lone = await detectTopology(server.client, { database: "default", cluster: "lone" });
  expect(tableFormOf(lone)).toEqual({ kind: "cluster", cluster: "lone", isReplicated: false, shards: 2 });
});

test("an unknown cluster is named together with the known ones", async () => {
  const found = detectTopology(server.client, { database: "default", cluster: "fuor" });
  await expect(found).rejects.toThrow("The server has no cluster fuor; it has four, lone");
});
