/** What an engine may read on behalf of pipes, beyond what its users' SQL may reach. */

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anyNetwork } from "../../harness/network/network.ts";
import { testDestination } from "../../harness/sources/source-context.ts";
import { loadConfig } from "../config.ts";
import { addOwnPort } from "../lib/own-ports.ts";
import { Outgoing } from "../network.ts";
import { PipeChecks } from "../pipes/control/definition/check.ts";
import { listenForEngine } from "../pipes/control/workers/engine-listener.ts";
import { CheckRun } from "../sources/contract/checks.ts";
import { objectStorage } from "../sources/object-storage/declaration/kind.ts";
import { ObjectBridge } from "../sources/object-storage/reading/object-bridge.ts";
import { parseUrl } from "../sources/object-storage/stores/location.ts";
import { S3Store } from "../sources/object-storage/stores/s3.ts";
import type { DialTarget } from "./dialer.ts";
import { type Permit, Permits } from "./permits.ts";

let server: Server;
let port = 0;
let closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  server = createServer((socket) => socket.end("here"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  server.close();
});

function outgoingOf(settings: Record<string, string>): Outgoing {
  const outgoing = new Outgoing(loadConfig({ host: "0.0.0.0", port: "0", ...settings }, {}));
  closing = [...closing, () => outgoing.proxy.closeAll()];
  return outgoing;
}

/** Status of a tunnel to `host:port` for the service `s`. */
async function tunnel(outgoing: Outgoing, host: string): Promise<number> {
  const { connect } = await import("node:net");
  const socket = connect((await outgoing.proxy.open("s")).port, "127.0.0.1");
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [head] = (await new Promise((done) => socket.once("data", (chunk) => done([chunk])))) as [Buffer];
  socket.destroy();
  return Number(String(head).split(" ")[1]);
}

describe("the engines' proxy", () => {
  test("follows the policy of SQL, unless a pipe of the service reads from there", async () => {
    const outgoing = outgoingOf({ pipeSourceNetworks: "public,127.0.0.1", sqlNetworks: "public" });
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(403);
    outgoing.permits.add("other", { kind: "source", host: "127.0.0.1", port });
    outgoing.permits.add("s", { kind: "source", host: "127.0.0.1", port: port + 1 });
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(403);
    const withdraw = outgoing.permits.add("s", { kind: "source", host: "127.0.0.1", port });
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(200);
    withdraw();
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(403);
  });

  test("holds a pipe to the policy of pipes", async () => {
    const outgoing = outgoingOf({ pipeSourceNetworks: "public" });
    outgoing.permits.add("s", { kind: "source", host: "localhost", port });
    expect(await tunnel(outgoing, "localhost")).toBe(403);
  });

  test("reaches listeners of pipe workers, and no port of the server", async () => {
    const outgoing = outgoingOf({ pipeSourceNetworks: "public" });
    outgoing.permits.add("s", { kind: "worker", host: "127.0.0.1", port });
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(200);
    let isOpen = true;
    addOwnPort({ port, isOpen: () => isOpen });
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(403);
    isOpen = false;
    expect(await tunnel(outgoing, "127.0.0.1")).toBe(200);
    expect(() => outgoing.permits.add("s", { kind: "worker", host: "10.0.0.1", port })).toThrow(TypeError);
  });
});

test("a permit holds as long as one of its holders", () => {
  const permits = new Permits();
  const permit: Permit = { kind: "source", host: "Store.example", port: 443 };
  const withdrawals = [permits.add("s", permit), permits.add("s", permit)];
  expect(permits.kindOf("s", { host: "store.EXAMPLE", port: 443 })).toBe("source");
  withdrawals[0]?.();
  expect(permits.kindOf("s", { host: "store.example", port: 443 })).toBe("source");
  withdrawals[1]?.();
  expect(permits.kindOf("s", { host: "store.example", port: 443 })).toBeUndefined();
});

describe("connectors ask for what the engine reads", () => {
  test.each([
    ["https://my-bucket.s3.eu-west-1.amazonaws.com/in/*", "my-bucket.s3.eu-west-1.amazonaws.com", 443],
    ["s3://my-bucket/in/*", "my-bucket.s3.us-east-1.amazonaws.com", 443],
    ["gs://my-bucket/in/*", "storage.googleapis.com", 443],
    ["http://minio.example:9000/my-bucket/in/*", "minio.example", 9000],
    ["http://[fd00::1]/my-bucket/in/*", "fd00::1", 80],
  ])("%s", async (url, host, expectedPort) => {
    const asked: DialTarget[] = [];
    const permitEngine = async (target: DialTarget) => void asked.push(target);
    const store = new S3Store(parseUrl(url), { url }, { ...anyNetwork, permitEngine });
    await store.reader(["in/a.json"]);
    await store.reader(["in/b.json"]);
    expect(asked).toEqual([{ host, port: expectedPort }]);
    store.close();
  });

  test("a bridge is read at a listener that it was given, whose permit goes with it", async () => {
    const permits = new Permits();
    const { listener, withdraw } = await listenForEngine(permits, "s", undefined);
    const url = "s3://my-bucket/in/*";
    const network = { ...anyNetwork, listenForEngine: async () => listener };
    const bridge = new ObjectBridge(new S3Store(parseUrl(url), { url }, network), network);
    const { params } = await bridge.reader(["in/a.json.bz2"], "unpacked");
    const target = { host: "127.0.0.1", port: Number(new URL(params.object_url ?? "").port) };
    expect(permits.kindOf("s", target)).toBe("worker");
    withdraw();
    expect(permits.kindOf("s", target)).toBeUndefined();
    bridge.close();
  });
});

test("a server on another machine gets no listener here, and one on this machine does", async () => {
  const permits = new Permits();
  const server = (host: string) => ({ host, port: 8123, isExternal: true }) as const;
  for (const host of ["ch.example.com", "10.1.2.3", "fd00::1"]) {
    await expect(listenForEngine(permits, "s", server(host)), host).rejects.toMatchObject({
      code: "DESTINATION_INVALID",
      message: expect.stringMatching(/on another machine/),
    });
  }
  for (const host of ["localhost", "127.0.0.1", "::1"]) {
    const { listener, withdraw } = await listenForEngine(permits, "s", server(host));
    withdraw();
    listener.close();
  }
});

test("checks of one organization beyond the limit are refused, and their places come back", async () => {
  const ended = Promise.withResolvers<never>();
  const acquire = () => ended.promise;
  const ledger = { marks: async () => ({}) };
  const checks = new PipeChecks({ acquire, policy: anyNetwork.policy, permits: new Permits(), ledger, limit: 1 });
  const request = {
    ...{ organizationId: "o", serviceId: "s", kind: objectStorage, config: undefined, table: testDestination },
    ...{ destination: undefined, validateSamples: false, pipeId: "p" },
  };
  const { signal } = new AbortController();
  const first = checks.reachable(request, new CheckRun(), signal).catch((error) => error.message);
  const refused = await checks.reachable(request, new CheckRun(), signal).catch((error) => error);
  expect(refused).toMatchObject({ code: "TOO_MANY_REQUESTS" });
  expect(refused.message).toContain("--pipe-checks-per-organization");
  const other = checks
    .reachable({ ...request, organizationId: "p" }, new CheckRun(), signal)
    .catch((error) => error.message);
  ended.reject(new Error("over"));
  expect([await first, await other]).toEqual(["over", "over"]);
  expect(await checks.reachable(request, new CheckRun(), signal).catch((error) => error.message)).toBe("over");
});
