/**
 * Nothing runs that was not judged, whatever a client hides among its data. The control sends the same bytes to the
 * engine's own port, where what hides is run.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { type Attack, attacks, forgedQueries, smuggledStatement } from "../../../harness/native/attacks.ts";
import { emptyData, hello, NativeClient, newest, queryPacket } from "../../../harness/native/client.ts";
import { until } from "../../../harness/serve.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

let stage: NativeStage;
let bare: BareEngine;

beforeAll(async () => {
  [stage, bare] = await Promise.all([nativeStage(), BareEngine.start()]);
  await stage.http("CREATE TABLE target (s String) ENGINE = MergeTree ORDER BY s");
  await bare.client.command("CREATE TABLE target (s String) ENGINE = MergeTree ORDER BY s");
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await bare?.[Symbol.asyncDispose]();
});

const pauseMs = 60;

async function attack(
  client: NativeClient,
  { packets, leaves }: Attack,
  table: string,
  stay: () => Promise<unknown> = () => delay(pauseMs),
): Promise<void> {
  const smuggled = Buffer.concat([queryPacket(smuggledStatement(table), client.revision), emptyData]);
  for (const packet of packets(client.revision, smuggled)) {
    client.send(packet);
    await delay(pauseMs);
  }
  if (leaves === "reset") client.reset();
  await stay();
  client.close();
}

/** The engine has none of the tables. */
async function expectNothing(): Promise<void> {
  expect(await stage.http("SELECT name FROM system.tables WHERE name LIKE 'smuggled%'")).toBe("");
}

const uptime = async () => Number(await stage.http("SELECT uptime()"));

describe.each([
  [54_460, "a table"],
  [newest, "a table"],
  [newest, "a temporary table"],
])("revision %i, data for %s", (revision, target) => {
  test.each(attacks.map((one, number) => [one.name, number, one] as const))("%s", async (_, number, one) => {
    const before = await uptime();
    const client = await stage.connect({ revision });
    if (target !== "a table") await client.query("CREATE TEMPORARY TABLE target (s String)");
    await attack(client, one, `smuggled${revision}_${number}_${target.length}`);
    await expectNothing();
    expect(await uptime()).toBeGreaterThanOrEqual(before);
  });

  test.each(forgedQueries.map(({ name, parts }) => [name, parts] as const))("a query with %s", async (name, parts) => {
    const before = await uptime();
    const client = await stage.connect({ revision });
    client.send(queryPacket(smuggledStatement(`smuggled_${name.replaceAll(/\W/g, "_")}`), revision, parts), emptyData);
    const { exception } = await client
      .answer()
      .catch((error: Error) => ({ exception: { code: 0, message: error.message } }));
    expect(exception).toBeDefined();
    client.close();
    await expectNothing();
    expect(await uptime()).toBeGreaterThanOrEqual(before);
  });
});

test.each([" INTERSERVER SECRET ", " SSH KEY AUTHENTICATION default", " JWT AUTHENTICATION "])(
  "the login of a server as '%s' is refused",
  async (user) => {
    const client = await NativeClient.dial({ port: stage.port });
    client.send(hello({ user, password: "" }));
    const type = await client.read((reader) => reader.varUint());
    expect(type).toBe(2);
    await client.ended();
  },
);

test("a connection that ends after every byte of the handshake leaves the engine alone", async () => {
  const before = await uptime();
  const bytes = hello({ password: stage.service.password });
  for (let length = 0; length <= bytes.length; length += 1) {
    const client = await NativeClient.dial({ port: stage.port });
    if (length > 0) client.send(bytes.subarray(0, length));
    if (length % 2 === 0) client.reset();
    else client.close();
  }
  const query = Buffer.concat([queryPacket("SELECT 1", newest), emptyData]);
  for (let length = 0; length <= query.length; length += 1) {
    const client = await stage.connect();
    client.send(query.subarray(0, length));
    if (length % 2 === 0) client.reset();
    else client.close();
  }
  expect(await uptime()).toBeGreaterThanOrEqual(before);
});

test("the engine's own port runs what hides, so that the attacks are real", async () => {
  const run: string[] = [];
  const expected = attacks.filter(({ worksAtServer }) => worksAtServer);
  for (const [number, one] of expected.entries()) {
    // The internal user: no other has a password that a client could have.
    const { user, password, port } = { ...bare.addressOf("reader"), user: "millrace-internal", port: bare.native.port };
    const hasRun = async () => (await bare.client.text(`EXISTS TABLE smuggled${number}`)).trim() === "1";
    const client = await NativeClient.connect({ port, user, password, revision: newest });
    // An engine that is slow would run nothing for a client that has gone.
    await attack(client, one, `smuggled${number}`, () => until(`${one.name} has run`, hasRun));
    run.push(one.name);
  }
  expect(run).toEqual(expected.map(({ name }) => name));
});
