/** Responses as they are sent on a socket: complete, with the announced length and the headers of every response. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, basic, startApi } from "./harness.ts";

let api: Api;
let agent: Agent;
let port: number;
beforeAll(async () => {
  api = await startApi();
  await api.server.listen({ host: "127.0.0.1", port: 0 });
  port = (api.server.server.address() as AddressInfo).port;
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});
afterAll(async () => {
  agent.destroy();
  await api[Symbol.asyncDispose]();
});

const services = () => `/v1/organizations/${api.organizationId}/services`;

async function send(method: string, path: string, body?: unknown): Promise<{ head: IncomingMessage; bytes: Buffer }> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    authorization: basic(api.keyId, api.keySecret),
    ...(payload === undefined ? {} : { "content-type": "application/json" }),
  };
  const call = request({ host: "127.0.0.1", port, agent, method, path, headers }).end(payload);
  const [head] = (await once(call, "response")) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of head) pieces.push(piece as Buffer);
  return { head, bytes: Buffer.concat(pieces) };
}

test("text of any alphabet arrives whole, on one connection, with the length that is announced", async () => {
  for (const name of ["plain", "Zürich", "数据库", "🦀 crab", "é".repeat(50)]) {
    const created = await send("POST", services(), { name });
    const { id } = JSON.parse(created.bytes.toString("utf8")).result.service;
    for (const path of [`${services()}/${id}`, services(), `${services()}/${id}/pipes`]) {
      const { head, bytes } = await send("GET", path);
      expect(head.statusCode).toBe(200);
      expect(head.headers["content-type"]).toBe("application/json; charset=utf-8");
      expect(Number(head.headers["content-length"])).toBe(bytes.length);
      const answer = JSON.parse(bytes.toString("utf8"));
      expect(Object.keys(answer)).toEqual(["status", "requestId", "result"]);
      if (path.endsWith(id)) expect(answer.result.name).toBe(name);
    }
  }
});

test("an answer without a result is the envelope alone", async () => {
  const key = await send("POST", `/v1/organizations/${api.organizationId}/keys`, { name: "k", roles: ["admin"] });
  const { id } = JSON.parse(key.bytes.toString("utf8")).result.key;
  const { head, bytes } = await send("DELETE", `/v1/organizations/${api.organizationId}/keys/${id}`);
  expect(Number(head.headers["content-length"])).toBe(bytes.length);
  expect(JSON.parse(bytes.toString("utf8"))).toEqual({ status: 200, requestId: expect.any(String) });
});

test("answers and refusals alike say what is left of the rate", async () => {
  const left = async (method: string, path: string, body?: unknown) => {
    const { head } = await send(method, path, body);
    return [head.statusCode, Number(head.headers["x-ratelimit-remaining"])] as const;
  };
  const [, start] = await left("GET", services());
  expect(await left("POST", services(), { name: "" })).toEqual([400, start - 1]);
  expect(await left("GET", `${services()}/00000000-0000-4000-8000-000000000000`)).toEqual([404, start - 2]);
  expect(await left("GET", `${services()}/not-a-uuid`)).toEqual([400, start - 3]);
  expect(await left("POST", services(), { name: "another" })).toEqual([200, start - 4]);
});

test("every answer has an id of its own", async () => {
  const ids = new Set<string>();
  for (let i = 0; i < 20; i += 1) ids.add(JSON.parse((await send("GET", services())).bytes.toString()).requestId);
  expect(ids.size).toBe(20);
});
