/** How a host ends that cannot listen. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startHostProcess } from "./host-process.ts";

test("a host whose port is taken meanwhile tells it and ends", async () => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-host-"));
  const options = { dataDir: join(dir, "data"), runDir: join(dir, "run"), maxMemoryBytes: 1e9 };
  const { child, ports } = await startHostProcess(options);
  const taken = createServer().listen(ports.native, ports.host);
  await once(taken, "listening");
  const told = once(child, "message");
  child.send({ type: "start", key: "k", host: ports.host, users: [], roles: [], disk: {} });
  expect(await told).toMatchObject([{ type: "broken", reason: "the engine has ended" }, undefined]);
  await once(child, "exit");
  taken.close();
  rmSync(dir, { recursive: true, force: true });
}, 120_000);
