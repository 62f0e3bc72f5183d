/** Troubles of a connection that need no ClickHouse server; test/real/external has the others. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../harness/network/free-port.ts";
import { networkOf } from "../../../harness/network/network.ts";
import { inspectConnection } from "./inspection.ts";

let answer: RequestListener = (_request, response) => response.writeHead(404).end("no such page");
const server = createServer((request, response) => answer(request, response));
let url: string;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const signal = new AbortController().signal;
const inspect = async (urls: readonly string[], reach: readonly string[] = ["any"]) =>
  await inspectConnection({ urls, username: "owner" }, "secret-password", networkOf(reach).policy, signal).then(
    () => undefined,
    (error: { code: string; message: string; issues: { path: string; message: string }[] }) => error,
  );

test("an address that the operator does not permit is refused before anything connects", async () => {
  let connections = 0;
  const count = () => {
    connections += 1;
  };
  server.on("connection", count);
  const trouble = await inspect([url], ["public"]);
  expect(trouble).toMatchObject({ code: "SOURCE_ADDRESS_REFUSED", issues: [{ path: "connection.urls[0]" }] });
  expect(trouble?.message).toMatch(/--pipe-source-networks/);
  expect(connections).toBe(0);
  server.off("connection", count);
});

test("every host is looked at, and each trouble has its own issue without the password", async () => {
  const closed = `http://127.0.0.1:${await freePort()}`;
  const trouble = await inspect([closed, "http://nowhere.invalid", url, url.replace("http:", "https:")]);
  expect(trouble?.code).toBe("CONNECTION_UNREACHABLE");
  expect(trouble?.issues.map(({ path }) => path)).toEqual([0, 1, 2, 3].map((index) => `connection.urls[${index}]`));
  const [first, second, third, fourth] = trouble?.issues.map(({ message }) => message) ?? [];
  expect(first).toMatch(/nothing listens/);
  expect(second).toMatch(/DNS does not know nowhere\.invalid/);
  expect(third).toMatch(/answers with status 404 and not like a ClickHouse server/);
  expect(fourth).toMatch(/does not speak TLS/);
  expect(JSON.stringify(trouble)).not.toContain("secret-password");
});

test.each([
  ["24.3.1.1", /runs ClickHouse 24\.3\.1\.1; upgrade it to 25\.8 or later/],
  ["<html>", /does not answer like a ClickHouse server/],
])("a server of version %s is refused", async (version, message) => {
  answer = (_request, response) => response.end(`${version}\n`);
  const trouble = await inspect([url]);
  expect(trouble).toMatchObject({ code: "CONNECTION_INVALID", issues: [{ path: "connection.urls[0]" }] });
  expect(trouble?.message).toMatch(message);
});
