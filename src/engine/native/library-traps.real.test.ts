/** What the engine library does not survive or does not protect, and what protects it. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BareEngine } from "../../../harness/engine/bare-engine.ts";
import { addendum, emptyData, hello, queryPacket } from "../../../harness/native/client.ts";
import { Reader } from "../../endpoint/native/codec.ts";
import { since } from "../../endpoint/native/hello.ts";
import { SealedConnection } from "./sealed-connection.ts";
import { SealedPool } from "./sealed-pool.ts";

const revision = since.seal;
let engine: BareEngine;
const address = () => engine.nativeAddress;
const pool = () => new SealedPool(address(), (sql) => engine.client.text(sql));

beforeAll(async () => {
  engine = await BareEngine.start();
});
afterAll(() => engine?.[Symbol.asyncDispose]());

test("a program of this machine that logs in as default without a password gets no answer", async () => {
  const raw = connect({ port: engine.native.port, host: "127.0.0.1" });
  await once(raw, "connect");
  raw.write(hello({ revision }));
  await once(raw, "data");
  let heard = 0;
  raw.on("data", (chunk: Buffer) => {
    heard += chunk.length;
  });
  raw.write(
    Buffer.concat([addendum(revision), queryPacket("CREATE TABLE mine (a Int8) ENGINE = Memory", revision), emptyData]),
  );
  await delay(1_000);
  expect(heard).toBe(0);
  expect((await engine.client.text("EXISTS TABLE mine")).trim()).toBe("0");
  raw.end();
});

test("every other user needs the key, and a query needs the seal", async () => {
  const connection = await SealedConnection.open(address(), revision, "");
  connection.socket.write(
    Buffer.concat([queryPacket("CREATE TABLE mine (a Int8) ENGINE = Memory", revision), emptyData]),
  );
  await once(connection.socket.resume(), "close");
  expect((await engine.client.text("EXISTS TABLE mine")).trim()).toBe("0");
});

test("a sealed query of default is answered at once, with the rights of the user", async () => {
  const connection = await SealedConnection.open(address(), revision, "");
  connection.query(sealed("SELECT currentUser()"));
  const first = new Promise<number>((resolve) => {
    connection.onBytes = (bytes) => resolve(new Reader(bytes).byte());
  });
  expect(await first).toBe(1);
  connection.end();
  await once(connection.socket, "close");
  expect((await engine.client.text("SELECT 1")).trim()).toBe("1");
});

test("a connection that is ended amid a query leaves the engine alone", async () => {
  for (let i = 0; i < 50; i += 1) {
    const connection = await SealedConnection.open(address(), revision, "");
    if (i % 2 === 0) connection.query(sealed("SELECT number FROM numbers(10000000)"));
    connection.end();
  }
  expect((await engine.client.text("SELECT 1")).trim()).toBe("1");
});

test("a database that does not exist is an exception, and not the end of the engine", async () => {
  await expect(pool().open(revision, "nowhere")).rejects.toMatchObject({ codeName: "UNKNOWN_DATABASE" });
  expect((await engine.client.text("SELECT 1")).trim()).toBe("1");
});

function sealed(text: string) {
  const none = Buffer.alloc(0);
  return {
    ...{
      id: "",
      user: "default",
      address: { host: "192.0.2.1", port: 1 },
      parameters: [],
      stage: 2,
      compressed: false,
    },
    origin: { osUser: none, hostName: none, clientName: none, version: [1, 2, 3] as const, trace: undefined },
    settings: [{ name: "sleep_after_receiving_query_ms", flags: 0, value: "0" }],
    text: Buffer.from(text),
  };
}
