/** The whole program: what pipes and SQL may connect to on a network server, and on a laptop. */

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFauxqs, type TestStore } from "../../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, untilState } from "../../harness/pipes.ts";
import { type BenchService, query, runningService, type Served, serve } from "../../harness/serve.ts";

let store: TestStore;
let canary: Server;
let canaryPort = 0;
let reached = 0;

beforeAll(async () => {
  store = await startFauxqs();
  await store.put("in/a.json", '{"id":1,"name":"a"}\n');
  canary = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => canary.listen(0, "127.0.0.1", done));
  canaryPort = (canary.address() as AddressInfo).port;
});
afterAll(async () => {
  canary.close();
  await store[Symbol.asyncDispose]();
});

const read = (url: string) =>
  `SELECT name FROM s3('${url}', 'AKTEST', 'SK-of-pipe-tests\\'\\\\x', 'JSONEachRow') SETTINGS s3_retry_attempts = 1`;

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => "it was allowed",
    (error: Error) => error.message,
  );
}

describe("a server on the network", () => {
  let served: Served;
  let service: BenchService;

  beforeAll(async () => {
    const env = { MILLRACE_HOST: "0.0.0.0", MILLRACE_PUBLIC_HOST: "127.0.0.1" };
    served = await serve({ env });
    service = await runningService(served);
  });
  afterAll(() => served[Symbol.asyncDispose]());

  test.each(["127.0.0.1", "localhost", "2130706433", "0.0.0.0"])("keeps SQL and pipes from %s", async (host) => {
    reached = 0;
    const url = `http://${host}:${canaryPort}/bucket/a.json`;
    // The engine shows the reason of a refused tunnel, but only the status of a response to HEAD.
    expect(await refusalOf(query(service, read(url)))).toMatch(/HTTP response code: 403/);
    const tls = url.replace("http:", "https:");
    expect(await refusalOf(query(service, read(tls)))).toMatch(/address of the machine.*--sql-networks/s);
    const pipe = createPipe(served, service, pipeBody(store, "in/*", "t", { source: { url } }));
    const refused = await refusalOf(pipe);
    expect(refused).toMatch(/source\.objectStorage\.url: .*address of the machine.*--pipe-source-networks/);
    expect(reached).toBe(0);
  });

  test("keeps SQL from addresses of the metadata service, without asking them", async () => {
    const refused = await refusalOf(query(service, read("https://169.254.169.254/latest/meta-data/a.json")));
    expect(refused).toMatch(/is a metadata address/);
  });
});

test("what the operator allows to pipes only, SQL reaches no more than before, and the pipe loads", async () => {
  const { port } = new URL(store.endpoint);
  const env = {
    MILLRACE_HOST: "0.0.0.0",
    MILLRACE_PUBLIC_HOST: "127.0.0.1",
    MILLRACE_PIPE_SOURCE_NETWORKS: "public,127.0.0.1",
    MILLRACE_SQL_NETWORKS: "public",
  };
  await using served = await serve({ env });
  const service = await runningService(served);
  expect(await refusalOf(query(service, read(`https://127.0.0.1:${port}/bucket/in/a.json`)))).toMatch(/--sql-networks/);
  const id = await createPipe(served, service, pipeBody(store, "in/*.json", "t"));
  await untilState(served, service, id, "Completed");
  expect(await query(service, "SELECT name FROM t")).toBe("a");
});

test("pipes of a laptop reach its own servers, and SQL and webhooks only public ones", async () => {
  await using served = await serve();
  const service = await runningService(served);
  const id = await createPipe(served, service, pipeBody(store, "in/*.json", "t"));
  await untilState(served, service, id, "Completed");
  const tls = `https://127.0.0.1:${canaryPort}/bucket/a.json`;
  expect(await refusalOf(query(service, read(tls)))).toMatch(/address of the machine.*--sql-networks/s);
  const hook = { name: "h", service: "generic", url: `http://127.0.0.1:${canaryPort}/`, description: null, body: null };
  const { observabilityBaseUrl, accessToken } = served.credentials;
  const answer = await fetch(`${observabilityBaseUrl}/api/v2/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    body: JSON.stringify(hook),
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(/url: .*address of the machine.*--webhook-networks/);
});

test("what the operator opens to SQL is never the server itself", async () => {
  await using served = await serve({ env: { MILLRACE_SQL_NETWORKS: "any" } });
  const service = await runningService(served);
  expect(await query(service, read(store.url("in/a.json")))).toBe("a");
  const own = new URL(served.credentials.baseUrl);
  for (const port of [own.port, String(service.port)]) {
    const metrics = `https://127.0.0.1:${port}/bucket/metrics.json`;
    expect(await refusalOf(query(service, read(metrics)))).toMatch(/is this server itself/);
  }
});
