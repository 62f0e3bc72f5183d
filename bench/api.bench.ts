import { fork } from "node:child_process";
import { once } from "node:events";
import autocannon from "autocannon";
import { startTestStore, type TestStore } from "../harness/objects/object-store.ts";
import { type BenchService, runningService, type Served, serve, until } from "../harness/serve.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description =
  "authenticated pipe list: requests/s against a bare node:http server that answers the same bytes";

const seconds = 4;
const rounds = 3;

export async function run(): Promise<BenchResult> {
  await using served = await serve({ env: { MILLRACE_RATE_LIMIT: "100000000" } });
  await using store = await startTestStore();
  const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
  const service = await runningService(served, { idleScaling: false });
  await createPipes(served, service, store);
  const url = `${baseUrl}/v1/organizations/${organizationId}/services/${service.id}/pipes`;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const answer = await (await fetch(url, { headers: { authorization } })).text();
  const bare = fork(new URL("./bare-server.ts", import.meta.url));
  bare.send(answer);
  const [port] = (await once(bare, "message")) as [number];
  const bareUrl = `http://127.0.0.1:${port}/`;

  const ours: autocannon.Result[] = [];
  const theirs: autocannon.Result[] = [];
  for (let i = 0; i < rounds; i += 1) {
    theirs.push(await load(bareUrl, authorization));
    ours.push(await load(url, authorization));
  }
  bare.disconnect();
  const row = (name: string, results: autocannon.Result[]) => ({
    server: name,
    "req/s": Math.round(median(results.map((result) => result.requests.average))),
    "p50 ms": median(results.map((result) => result.latency.p50)),
    "p99 ms": median(results.map((result) => result.latency.p99)),
    errors: results.reduce((sum, result) => sum + result.errors + result.non2xx, 0),
  });
  const rows = [row("bare node:http", theirs), row("millrace", ours)];
  const ratio = median(ours.map((result, i) => result.requests.average / (theirs[i]?.requests.average ?? Number.NaN)));
  return {
    rows,
    summary: { ratio: round(ratio), reqPerSecond: rows[1]?.["req/s"] ?? 0, p99Ms: rows[1]?.["p99 ms"] ?? 0 },
  };
}

function load(url: string, authorization: string): Promise<autocannon.Result> {
  return autocannon({ url, connections: 16, duration: seconds, headers: { authorization } });
}

/** A typical service: five idle pipes. */
async function createPipes(served: Served, service: BenchService, store: TestStore): Promise<void> {
  await store.put("a.json", '{"a": 1}');
  const objectStorage = { url: `${store.endpoint}/${store.bucket}/*.json`, accessKey: store.accessKey };
  for (let i = 0; i < 5; i += 1) {
    const destination = { table: `t${i}`, columns: [{ name: "a", type: "UInt8" }] };
    const body = { name: `Pipe ${i}`, source: { objectStorage }, destination };
    const pipe = await served.api.createPipe({ params: service.params, body });
    const params = { ...service.params, pipeId: pipe.id };
    await until("completed", async () => (await served.api.getPipe({ params })).state === "Completed");
  }
}
