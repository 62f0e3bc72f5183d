/** A worker's connection to the server of an external service. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { networkOf } from "../../../harness/network/network.ts";
import type { ClickHouseAddress, ClickHouseClient } from "../../clickhouse/client.ts";
import { ServiceLink } from "./service-link.ts";

let answer: RequestListener;
const server = createServer((request, response) => answer(request, response));
let address: ClickHouseAddress;
let acquired = 0;
const released: number[] = [];
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  // As it arrives over IPC: without functions.
  address = { host: "127.0.0.1", port, user: "owner", password: "ü", isExternal: true };
});
afterAll(() => server.close());
beforeEach(() => {
  acquired = 0;
  released.length = 0;
  answer = (_request, response) => response.end("1\n");
});
afterEach(() => {
  vi.useRealTimers();
});

const linkWith = (reach: readonly string[], more: Partial<ClickHouseAddress> = {}) =>
  new ServiceLink(
    {
      acquire: async () => {
        acquired += 1;
        return { lease: acquired, address: { ...address, ...more } };
      },
      release: async (lease) => void released.push(lease),
    },
    networkOf(reach).policy,
  );
const ask = (client: ClickHouseClient) => client.text("SELECT 1");

test("connections follow the address policy of the worker", async () => {
  const refused = linkWith(["public"]);
  await expect(refused.use(ask)).rejects.toMatchObject({ code: "SOURCE_ADDRESS_REFUSED" });
  refused.close();
  const link = linkWith(["any"]);
  expect(await link.use(ask)).toBe("1\n");
  link.close();
});

test("the policy for addresses of users does not concern those that a cluster has given", async () => {
  const link = linkWith(["public"], { isManaged: true });
  expect(await link.use(ask)).toBe("1\n");
  link.close();
});

test("a busy pipe takes a changed connection within seconds, and gives the old lease back when its work ends", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const link = linkWith(["any"]);
  const long = Promise.withResolvers<void>();
  const busy = link.use(() => long.promise);
  await link.use(ask);
  expect(acquired).toBe(1);
  vi.advanceTimersByTime(6_000);
  await link.use(ask);
  expect([acquired, released]).toEqual([2, []]);
  long.resolve();
  await busy;
  await vi.waitFor(() => expect(released).toEqual([1]));
  link.close();
});

test("a password that the server no longer accepts makes the next attempt acquire the connection again", async () => {
  const link = linkWith(["any"]);
  const sent: (string | undefined)[] = [];
  answer = ({ headers }, response) => {
    sent.push(headers.authorization);
    response.writeHead(403).end("Code: 516. DB::Exception: owner: Authentication failed. (AUTHENTICATION_FAILED)");
  };
  await expect(link.use(ask)).rejects.toMatchObject({ code: 516 });
  await expect(link.use(ask)).rejects.toMatchObject({ code: 516 });
  expect(acquired).toBe(2);
  expect(sent[0]).toBe(`Basic ${Buffer.from("owner:ü").toString("base64")}`);
  link.close();
});
