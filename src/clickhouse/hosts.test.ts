/** A client of several hosts: which one it asks, and when it asks another one. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { request } from "../lib/node-http.ts";
import { ClickHouseClient } from "./client.ts";
import { clickHouseCodes } from "./error-codes.ts";
import { HostHealth, limitConnecting } from "./hosts.ts";

type Answer = (response: ServerResponse) => void;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const ok: Answer = (response) => response.end("1\n");
const failing =
  (code: number): Answer =>
  (response) =>
    response.writeHead(500, { "x-clickhouse-exception-code": String(code) }).end(`Code: ${code}. no`);

/** Its port, and the URLs it was asked. */
async function host(answer: Answer): Promise<{ host: string; port: number; asked: string[]; server: Server }> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(incoming.url ?? "");
    incoming.resume().on("end", () => answer(response));
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port, asked, server };
}

function clientOf(...hosts: readonly { host: string; port: number }[]): ClickHouseClient {
  const [first, ...others] = hosts as [{ host: string; port: number }];
  return new ClickHouseClient({ ...first, others });
}

test("after these codes the same statement goes to the next host with the same token", async () => {
  const { TABLE_IS_READ_ONLY, UNKNOWN_STATUS_OF_INSERT, KEEPER_EXCEPTION, NETWORK_ERROR } = clickHouseCodes;
  const { SOCKET_TIMEOUT, TIMEOUT_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES } = clickHouseCodes;
  const codes = [TABLE_IS_READ_ONLY, UNKNOWN_STATUS_OF_INSERT, KEEPER_EXCEPTION, NETWORK_ERROR, SOCKET_TIMEOUT];
  for (const code of [...codes, TIMEOUT_EXCEEDED, TOO_MANY_SIMULTANEOUS_QUERIES]) {
    const [bad, good] = [await host(failing(code)), await host(ok)];
    await clientOf(bad, good).command("INSERT", {
      settings: { insert_deduplication_token: "batch-7" },
      body: Buffer.from("1"),
    });
    for (const { asked } of [bad, good]) expect(asked).toEqual([expect.stringContaining("token=batch-7")]);
  }
});

test("a refusal is the answer, and no other host is asked", async () => {
  const [bad, good] = [await host(failing(clickHouseCodes.CANNOT_PARSE_NUMBER)), await host(ok)];
  await expect(clientOf(bad, good).text("SELECT")).rejects.toMatchObject({ code: 72 });
  expect(good.asked).toEqual([]);
});

test("a host that refuses connections is asked last until it has rested", async () => {
  const [dead, good] = [await host(ok), await host(ok)];
  await new Promise((closed) => dead.server.close(closed));
  for (let round = 0; round < 3; round += 1) expect(await clientOf(dead, good).text("SELECT 1")).toBe("1\n");
  expect(good.asked).toHaveLength(3);
});

test("when every host fails, the engine's own words are thrown", async () => {
  const [dead, bad] = [await host(ok), await host(failing(clickHouseCodes.TABLE_IS_READ_ONLY))];
  await new Promise((closed) => dead.server.close(closed));
  await expect(clientOf(dead, bad).text("SELECT")).rejects.toMatchObject({ code: 242 });
});

test("working hosts take turns by number, and those that failed follow, the earliest first", () => {
  let now = 0;
  const health = new HostHealth(() => now);
  const hosts = ["a", "b", "c"].map((name) => ({ host: name, port: 1 }));
  const order = (spread = 0) =>
    health
      .order(hosts, spread)
      .map((found) => found.host)
      .join("");
  expect([0, 1, 2, 3].map(order)).toEqual(["abc", "bca", "cab", "abc"]);
  health.failed({ host: "b", port: 1 });
  now = 1_000;
  health.failed({ host: "a", port: 1 });
  expect([0, 1].map(order)).toEqual(["cba", "cba"]);
  health.answered({ host: "a", port: 1 });
  expect([0, 1].map(order)).toEqual(["acb", "cab"]);
  now = 120_000;
  expect(order()).toBe("abc");
});

test("a key leads to the same working host whatever the order of the hosts is, and keys share the hosts out", () => {
  const [health, elsewhere] = [new HostHealth(() => 0), new HostHealth(() => 0)];
  const hosts = ["a", "b", "c"].map((name) => ({ host: name, port: 1 }));
  const keys = Array.from({ length: 60 }, (_, at) => `user/session ${at}`);
  const firsts = (of: HostHealth, known = hosts) => keys.map((key) => of.orderFor(known, key)[0]?.host);
  const before = firsts(health);
  expect(firsts(elsewhere, hosts.toReversed())).toEqual(before);
  expect(new Set(before)).toEqual(new Set(["a", "b", "c"]));
  // Only the sessions of a host that fails go to others.
  health.failed({ host: "b", port: 1 });
  const after = firsts(health);
  expect(after.map((host, at) => before[at] === "b" || host === before[at])).not.toContain(false);
  expect(after).not.toContain("b");
});

test("a connection that is not made is given up", async () => {
  const outgoing = request({ host: "never.invalid", agent: false, lookup: () => {} });
  const failed = once(outgoing, "error");
  limitConnecting(outgoing, 20);
  outgoing.end();
  expect((await failed)[0]).toMatchObject({ message: "timed out: no connection within 0.02 s" });
});
