/** Who has not logged in gets little: few bytes, ten seconds, and so many connections of one address. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptyData, hello, NativeClient, newest, queryPacket } from "../../../harness/native/client.ts";
import { until } from "../../../harness/serve.ts";
import { Writer } from "../../../src/endpoint/native/codec.ts";
import { readServerHello } from "../../../src/endpoint/native/hello.ts";
import { type NativeStage, nativeStage } from "./stage.ts";

/** The stages of a service that idles after 1.5 s, and of one that never does. */
let idling: NativeStage;
let awake: NativeStage;

beforeAll(async () => {
  [idling, awake] = await Promise.all([
    nativeStage({ MILLRACE_IDLE_MINUTE_MS: "300" }, { idleTimeoutMinutes: 5 }),
    nativeStage({}, { idleScaling: false }),
  ]);
});
afterAll(async () => {
  await idling?.[Symbol.asyncDispose]();
  await awake?.[Symbol.asyncDispose]();
});

const idle = () => until("the service is idle", async () => (await idling.state()) === "idle");
const dial = ({ port }: NativeStage) => NativeClient.dial({ port });

/** The exception of a login. */
async function refusal(stage: NativeStage, ...packets: readonly Buffer[]): Promise<string> {
  const client = await dial(stage);
  client.send(...packets);
  const { exception } = await client.answer();
  await client.ended();
  return exception?.message ?? "";
}

describe.each([
  ["that runs", () => awake, async () => {}],
  ["that is idle", () => idling, idle],
])("a service %s", (_, stageOf, prepare) => {
  test("ends connections that have not logged in after ten seconds", async () => {
    await prepare();
    const stage = stageOf();
    const [silent, half, slow] = [await dial(stage), await dial(stage), await dial(stage)];
    half.send(hello({}).subarray(0, 9));
    slow.send(hello({ password: stage.service.password }));
    await slow.read((reader) => readServerHello(reader, newest));
    await Promise.all([silent, half, slow].map((client) => client.ended()));
  });

  test("reads no string of a login beyond 4 KiB", async () => {
    await prepare();
    const stage = stageOf();
    expect(await refusal(stage, hello({ user: "u".repeat(4_096) }))).toMatch(/password is incorrect/);
    expect(await refusal(stage, hello({ user: "u".repeat(4_097) }))).toMatch(/has 4097 bytes; it can have 4096/);
    // Nobody waits for what such a length promises.
    expect(
      await refusal(
        stage,
        new Writer()
          .varUint(0)
          .varUint(2 ** 40)
          .done(),
      ),
    ).toMatch(/it can have 4096/);
    expect(await refusal(stage, Buffer.concat([Buffer.from([0]), Buffer.alloc(12, 0xff)]))).toMatch(/too large/);
  });

  test("lets the oldest of many connections of one address go, and others log in", async () => {
    await prepare();
    const stage = stageOf();
    // It comes from another address, and is ended by the ten seconds alone.
    const witness = await NativeClient.dial({ port: stage.port, localAddress: "127.0.0.2" });
    const strangers: NativeClient[] = [];
    for (let i = 0; i < 510; i += 1) strangers.push(await dial(stage));
    await Promise.all(strangers.slice(0, 5).map((client) => client.ended()));
    expect(witness.hasEnded).toBe(false);
    const client = await stage.connect();
    client.close();
    for (const stranger of [witness, ...strangers]) stranger.close();
  });
});

test("sessions that rest are not strangers: others log in beside them, and all of them continue", async () => {
  const clients: NativeClient[] = [];
  for (let i = 0; i < 510; i += 1) {
    const client = await idling.connect();
    // They log in at the engine host, and return from there.
    expect(await client.query("SELECT 1")).toEqual([["1"]]);
    clients.push(client);
  }
  await idle();
  clients.push(await idling.connect());
  for (const client of clients) expect(await client.query("SELECT 1")).toEqual([["1"]]);
  // The host has them now, with the sessions that they bring.
  clients.push(await idling.connect());
  for (const client of clients) {
    await client.ping();
    client.close();
  }
});

test("the connection after the last one that an idle service has is closed", async () => {
  await idle();
  const clients: NativeClient[] = [];
  for (let i = 0; i < 2_000; i += 1) clients.push(await idling.connect());
  await (await dial(idling)).ended();
  clients.pop()?.close();
  await until("there is room", async () => {
    const again = await idling.connect().catch(() => undefined);
    again?.close();
    return again !== undefined;
  });
  for (const client of clients) client.close();
});

test("the connection after the last one that an engine has is told so", async () => {
  const clients: NativeClient[] = [];
  for (let i = 0; i < 2_000; i += 1) clients.push(await awake.connect());
  const more = await awake.connect();
  more.send(queryPacket("SELECT 1", more.revision), emptyData);
  expect((await more.answer()).exception?.message).toMatch(/too many connections/);
  for (const client of clients) client.close();
});
