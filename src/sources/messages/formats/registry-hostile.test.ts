/** Answers of a schema registry that lies. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { anyNetwork } from "../../../../harness/network/network.ts";
import { Dialer } from "../../../outgoing/dialer.ts";
import { AvroRows } from "./avro-rows.ts";
import { SchemaRegistry } from "./registry.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function registryOf(answer: (path: string) => string): Promise<SchemaRegistry> {
  const server = createServer((request, response) => void response.end(answer(request.url ?? ""))).listen(
    0,
    "127.0.0.1",
  );
  open.push(server);
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new SchemaRegistry({ url }, new Dialer(anyNetwork.policy, "schemaRegistry.url"));
}

test.each([
  "null",
  "[]",
  '"text"',
  '{"schema": 5}',
  '{"schema": "{}", "references": {"length": 3}}',
  '{"schema": "{}", "references": [null]}',
  '{"schema": "{}", "references": [{"name": "a", "subject": "\\ud800", "version": 1}]}',
  '{"schema": "{}", "references": [{"name": "a", "subject": "s", "version": "../../subjects"}]}',
])("%s is not a schema", async (answer) => {
  const registry = await registryOf(() => answer);
  await expect(registry.ask(1)).rejects.toMatchObject({ code: "SOURCE_UNREACHABLE" });
});

test("references that form a circle, or have no end, are asked for once each", async () => {
  const paths: string[] = [];
  const circle = await registryOf((path) => {
    paths.push(path);
    return '{"schema": "{}", "references": [{"name": "a", "subject": "s", "version": 1}]}';
  });
  await circle.ask(1);
  expect(paths).toHaveLength(2);
  let next = 0;
  const endless = await registryOf(() => {
    next += 1;
    return JSON.stringify({ schema: "{}", references: [{ name: "a", subject: "s", version: next }] });
  });
  await expect(endless.ask(1)).rejects.toMatchObject({ code: "SOURCE_INVALID" });
});

test("references of more than 16 MB together are refused", async () => {
  const references = Array.from({ length: 9 }, (_, version) => ({ name: "a", subject: "s", version }));
  const large = JSON.stringify({ schema: " ".repeat(2_000_000) });
  const registry = await registryOf((path) =>
    path.startsWith("/schemas") ? JSON.stringify({ schema: "", references }) : large,
  );
  await expect(registry.ask(1)).rejects.toMatchObject({
    code: "SOURCE_INVALID",
    message: expect.stringContaining("too large"),
  });
});

test("old schemas make room for new ones", async () => {
  const registry = await registryOf(() => JSON.stringify({ schema: " ".repeat(10_000_000) }));
  for (let id = 1; id <= 8; id += 1) await registry.ask(id);
  expect([1, 2, 3, 8].map((id) => registry.known(id) === undefined)).toEqual([true, true, false, false]);
});

test.each([
  ["nested", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, "is nested more than 500 deep"],
  ["long", `"${"x".repeat(1_000_000)}"`, "has more than 1000000 characters"],
])("a schema that is too %s is never parsed", async (_, schema, reason) => {
  const registry = await registryOf(() => JSON.stringify({ schema }));
  await registry.ask(1);
  const rows = new AvroRows({ virtuals: [], format: "Avro", sql: "", settings: {} } as never, registry);
  const bytes = Buffer.from([0, 0, 0, 0, 1, 2]);
  expect(rows.group({ bytes, start: 0, end: bytes.length, position: 0 } as never)).toBe(`The schema 1 ${reason}.`);
});

test.each([401, 403])("a login that is refused with %d is that of the registry", async (status) => {
  const server = createServer((_, response) => void response.writeHead(status).end()).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registry = new SchemaRegistry(
    { url },
    new Dialer(anyNetwork.policy, "source.messageBroker.schemaRegistry.url"),
  );
  const issues = [{ path: "source.messageBroker.schemaRegistry.credentials" }];
  await expect(registry.check()).rejects.toMatchObject({ code: "SOURCE_UNAUTHORIZED", issues });
});
