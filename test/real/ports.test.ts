/** Ports of the API and of services: chosen, changed, and in use by another program. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { query, runningService, serve, until } from "../../harness/serve.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

async function occupy(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.destroy()).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("an API port that is in use ends the start at once, with one sentence", async () => {
  const { server, port } = await occupy();
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-port-"));
  try {
    const child = spawn(process.execPath, [main, "serve", "--data-dir", dataDir, "--port", String(port)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
    const [code] = await once(child, "exit");
    expect(code).toBe(1);
    expect(said).toContain(`127.0.0.1:${port}`);
    expect(said).not.toContain("    at ");
    expect(said.trim().split("\n")).toHaveLength(1);
  } finally {
    server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("a service whose port another program has is degraded with the reason, and moves when it is told to", async () => {
  const first = await serve();
  const service = await runningService(first, { idleScaling: false });
  await query(service, "CREATE TABLE t (a UInt64) ORDER BY a");
  const get = async (served: typeof first) => await served.api.getService({ params: service.params });
  const health = async (served: typeof first) =>
    (await (await fetch(`${served.credentials.baseUrl}/health`)).json()) as { status: string; endpoints: unknown[] };
  expect(await health(first)).toMatchObject({ status: "ok", endpoints: [] });
  await first.stop();
  const { server } = await occupy(service.port);
  await using second = await serve({ dataDir: first.dataDir });
  const sentence = `Port ${service.port} is in use by another program.`;
  await until("the service is degraded", async () => (await get(second)).state === "degraded");
  expect((await get(second)).stateMessage).toBe(sentence);
  expect(await health(second)).toMatchObject({
    status: "degraded",
    endpoints: [{ serviceId: service.id, problem: sentence }],
  });

  const taken = second.api.updateService({ params: service.params, body: { port: service.port } });
  await expect(taken.then((record) => record.state)).resolves.toBe("degraded");
  const free = await occupy();
  const refused = second.api.updateService({ params: service.params, body: { port: free.port } });
  await expect(refused).rejects.toThrow(`Port ${free.port} is in use by another program.`);
  free.server.close();
  await once(free.server, "close");
  const moved = await second.api.updateService({ params: service.params, body: { port: free.port } });
  expect(moved).toMatchObject({ state: "running", endpoints: [{ port: free.port }, { protocol: "native" }] });
  expect((await query({ ...service, port: free.port }, "SELECT count() FROM t")).trim()).toBe("0");
  expect(await health(second)).toMatchObject({ status: "ok" });
  server.close();
});

test("ports of services lie in the range that the operator gave", async () => {
  const { server, port } = await occupy();
  server.close();
  await using served = await serve({ env: { MILLRACE_SERVICE_PORTS: `${port}-${port}` } });
  const params = { organizationId: served.credentials.organizationId };
  const { service } = await served.api.createService({ params, body: { name: "a" } });
  expect(service.endpoints[0]).toMatchObject({ port });
  await expect(served.api.createService({ params, body: { name: "b" } })).rejects.toThrow(
    `Every port of --service-ports ${port}-${port} is taken.`,
  );
});

test("behind a proxy, records and credentials show the public scheme and name", async () => {
  await using served = await serve({ env: { MILLRACE_PUBLIC_URL: "https://data.example.com/" } });
  expect(served.credentials.baseUrl).toBe("https://data.example.com");
});
