import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ServicePorts, servicePortOf } from "./service-ports.ts";

const host = "127.0.0.1";
const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function occupied(): Promise<number> {
  const server = createServer().listen(0, host);
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Another program may have the next port. */
async function occupiedBeforeFree(): Promise<number> {
  for (;;) {
    const busy = await occupied();
    const probe = createServer().listen(busy + 1, host);
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    probe.close();
    if (isFree) return busy;
  }
}

const ports = (first: number, last: number, taken: [number, string][] = []) => {
  const services = taken.map(([port, name]) => ({ port, name, organizationId: "own" }));
  return new ServicePorts({ host, range: { first, last }, services: async () => services });
};

describe("a port for a new service", () => {
  test("lies in the range, is not another service's, and nobody listens on it", async () => {
    const busy = await occupiedBeforeFree();
    const picked = await ports(busy - 1, busy + 1, [[busy - 1, "sales"]]).pick();
    expect(picked).toBe(busy + 1);
  });

  test("is given once, also to those who ask at the same time", async () => {
    const busy = await occupied();
    // Other programs may have several of them.
    const range = ports(busy - 50, busy + 50);
    const picked = await Promise.all([range.pick(), range.pick(), range.pick()]);
    expect(new Set(picked).size).toBe(3);
  });

  test("is refused when there is none, by the name of the setting", async () => {
    const busy = await occupied();
    await expect(ports(busy, busy).pick()).rejects.toThrow(`Every port of --service-ports ${busy}-${busy} is taken.`);
  });
});

describe("a port that was asked for", () => {
  test("is refused when another program or another service has it", async () => {
    const busy = await occupied();
    await expect(ports(1, 2).require(busy, "own")).rejects.toThrow(`Port ${busy} is in use by another program.`);
    await expect(ports(1, 2, [[7000, "sales"]]).require(7000, "own")).rejects.toMatchObject({
      code: "CONFLICT",
      issues: [{ path: "port", message: 'belongs to service "sales"' }],
    });
    // Names of other organizations are theirs.
    await expect(ports(1, 2, [[7000, "sales"]]).require(7000, "other")).rejects.toMatchObject({
      message: "Port 7000 belongs to another service.",
      issues: [{ path: "port", message: "belongs to another service" }],
    });
  });
});

test("where services have no ports, each gets a mark of its own, and a request for a port says so", async () => {
  const ports = new ServicePorts({ host: "127.0.0.1", range: undefined, services: async () => [] });
  const marks = [await ports.pick(), await ports.pick()].map((port) => servicePortOf({ port }));
  expect(marks).toEqual([undefined, undefined]);
  expect(servicePortOf({ port: 21_000 })).toBe(21_000);
  await expect(ports.require(21_000, "own")).rejects.toMatchObject({
    code: "BAD_REQUEST",
    issues: [{ path: "port", message: "must be absent: the server runs with --service-ports none" }],
  });
});
