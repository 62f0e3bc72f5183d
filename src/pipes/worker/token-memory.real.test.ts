/** Tables of a user that may not be changed: a warning that says what is lost, and with which statement it is not. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { serverUser, TestServer } from "../../../harness/clickhouse/server.ts";
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { layoutOf } from "../layout.ts";
import { type DestinationTableFacts, findTable } from "../tables.ts";
import { missingWindow } from "../windows.ts";
import { rememberTokens } from "./token-memory.ts";

const writer = { name: "writer", password: "secret", grants: ["SELECT, INSERT, SHOW ON *.*"] };
let server: TestServer;
let client: ClickHouseClient;

beforeAll(async () => {
  server = await TestServer.start({ users: [serverUser, writer] });
  client = new ClickHouseClient({ ...server.address, user: writer.name, password: writer.password });
});
afterAll(async () => {
  client?.close();
  await server?.[Symbol.asyncDispose]();
});

async function table(name: string): Promise<DestinationTableFacts> {
  const sql = `CREATE TABLE ${name} (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 5`;
  await server.client.command(sql);
  return (await findTable(server.client, "default", name)) as DestinationTableFacts;
}

test("a table that may be changed gets the window, also where it has a smaller one", async () => {
  const found = await table("own");
  expect(await rememberTokens(server.client, found, await layoutOf(server.client, "default"))).toEqual([]);
  expect(missingWindow((await findTable(server.client, "default", "own")) as DestinationTableFacts)).toBeUndefined();
});

test("a table that may not be changed is told with the loss and the statement for its owner", async () => {
  const [warning, ...more] = await rememberTokens(client, await table("foreign"), await layoutOf(client, "default"));
  expect(more).toEqual([]);
  expect(warning).toContain("is written twice");
  const statement = /(ALTER TABLE [^.]*\.[^.]*)\.$/.exec(warning ?? "")?.[1] ?? "";
  await server.client.command(statement);
  expect(
    missingWindow((await findTable(server.client, "default", "foreign")) as DestinationTableFacts),
  ).toBeUndefined();
});
