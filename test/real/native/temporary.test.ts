/** Data of clients in temporary tables: its way past the session leaves nothing behind, and is nobody else's. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { emptyData, type NativeClient, newest, queryPacket, stringData } from "../../../harness/native/client.ts";
import { NativeFront } from "../../../harness/native/front.ts";

let engine: BareEngine;
let front: NativeFront;
let client: NativeClient;
const beside = "database = 'information_schema' AND name LIKE 'millrace%'";
const tablesBeside = async () => await engine.client.text(`SELECT count() FROM system.tables WHERE ${beside}`);
const create = "CREATE TEMPORARY TABLE x (s String, t String DEFAULT upper(s), CONSTRAINT c CHECK s != 'bad')";
const insert = "INSERT INTO x (s) VALUES";

beforeAll(async () => {
  engine = await BareEngine.start();
  front = await NativeFront.start(engine);
});
beforeEach(async () => {
  client = await front.connect("default");
  await client.query(create);
});
afterEach(() => client.close());
afterAll(async () => {
  await front?.[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
});

test.each([54_213, 54_441, newest])(
  "columns that a client of %i does not send get their defaults",
  async (revision) => {
    client = await front.connect("default", revision);
    await client.query(create);
    expect(await client.insert(insert, ["a", "it's"])).toEqual({ rows: [], exception: undefined });
    expect(await client.insert(insert, [])).toMatchObject({ exception: undefined });
    expect(await client.query("SELECT s, t FROM x ORDER BY s")).toEqual([
      ["a", "A"],
      ["it's", "IT'S"],
    ]);
    expect(await tablesBeside()).toBe("0\n");
  },
);

test("megabytes in several blocks arrive whole, and one INSERT after another", async () => {
  const megabyte = "x".repeat(1_000_000);
  for (const round of [1, 2]) {
    client.send(queryPacket(insert, client.revision), emptyData);
    for (let block = 0; block < 9; block += 1) client.send(stringData(client.revision, [megabyte, `${block}`]));
    client.send(emptyData);
    expect(await client.answer()).toMatchObject({ exception: undefined });
    expect(await client.query("SELECT count(), sum(length(s)) FROM x")).toEqual([
      [`${18 * round}`, `${9_000_009 * round}`],
    ]);
  }
});

test("an INSERT that is too large is refused, changes nothing, and the connection goes on", async () => {
  const large = "x".repeat(8_000_000);
  client.send(queryPacket(insert, client.revision), emptyData);
  for (let block = 0; block < 9; block += 1) client.send(stringData(client.revision, [large]));
  client.send(emptyData);
  expect((await client.answer()).exception?.message).toMatch(/can have 67108864 bytes: send it in several/);
  expect(await client.query("SELECT count() FROM x")).toEqual([["0"]]);
  expect(await tablesBeside()).toBe("0\n");
});

test("what the engine says against the statement or the data is told, and the connection goes on", async () => {
  expect((await client.insert("INSERT INTO x (nothing) VALUES", ["a"])).exception?.code).toBe(16);
  expect((await client.insert(insert, ["a", "bad"])).exception?.code).toBe(469);
  expect((await client.insert(insert, ["b"])).exception).toBeUndefined();
  expect(await client.query("SELECT s FROM x")).toEqual([["b"]]);
  expect(await tablesBeside()).toBe("0\n");
});

test("nobody else reads or changes the data on its way, and a client that goes leaves nothing of it", async () => {
  const read = async () => (await tablesBeside()).trim();
  await client.insert(insert, ["seen"], {
    before: async () => {
      expect(await read()).toBe("1");
      const [name] = (await engine.client.text(`SELECT name FROM system.tables WHERE ${beside}`)).split("\n");
      for (const user of ["default", "reader", "millrace-writer"]) {
        for (const what of ["SELECT * FROM", "TRUNCATE TABLE", "DROP TABLE", "INSERT INTO"]) {
          const sql = `${what} information_schema.\`${name}\`${what === "INSERT INTO" ? " SELECT 'x'" : ""}`;
          await expect(engine.clientOf(user).text(sql)).rejects.toThrow(/privileges|readonly mode/);
        }
      }
    },
  });
  client.send(queryPacket(insert, client.revision), emptyData, stringData(client.revision, ["lost"]));
  await expect.poll(read, { timeout: 30_000 }).toBe("1");
  client.close();
  await expect.poll(read, { timeout: 30_000 }).toBe("0");
});
