/** The ports of a host, and how it ends when it cannot listen. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownPorts } from "../lib/own-ports.ts";
import { OutgoingPolicy } from "../outgoing/policy.ts";
import { startHostProcess } from "./host-process.ts";

test("a host whose port is taken meanwhile tells it and ends", async () => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-host-"));
  const options = { dataDir: join(dir, "data"), runDir: join(dir, "run"), maxMemoryBytes: 1e9 };
  const { child, ports } = await startHostProcess(options);
  // Another server may have the same port at 127.0.0.1, for example a store that a pipe reads.
  const policy = new OutgoingPolicy({ reach: ["any"], setting: "--x", ownPorts: [] }, () => ownPorts());
  for (const port of [ports.engine, ports.native]) {
    expect(policy.refusalOf(ports.host, port)).toBe("own");
    expect(policy.refusalOf(`::ffff:${ports.host}`, port)).toBe("own");
    expect(policy.refusalOf("127.0.0.1", port)).toBe(ports.host === "127.0.0.1" ? "own" : undefined);
    expect(policy.rules.ownPorts.includes(port)).toBe(ports.host === "127.0.0.1");
  }
  expect(policy.refusalOf("127.0.0.1", ports.forward)).toBe("own");
  const taken = createServer().listen(ports.native, ports.host);
  await once(taken, "listening");
  const told = once(child, "message");
  child.send({ type: "start", key: "k", host: ports.host, users: [], roles: [], disk: {} });
  expect(await told).toMatchObject([{ type: "broken", reason: "the engine has ended" }, undefined]);
  await once(child, "exit");
  taken.close();
  rmSync(dir, { recursive: true, force: true });
}, 120_000);
