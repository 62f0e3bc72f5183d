import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import autocannon from "autocannon";
import { serve } from "../test/support/serve.ts";
import { type BenchResult, median, round } from "./bench.ts";

export const description =
  "authenticated pipe list: requests/s against a bare node:http server that answers the same bytes";

const seconds = 4;
const rounds = 3;

export async function run(): Promise<BenchResult> {
  await using served = await serve({ env: { MILLRACE_RATE_LIMIT: "100000000" } });
  const { baseUrl, organizationId, keyId, keySecret } = served.credentials;
  const { service } = await served.api.createService({ params: { organizationId }, body: { name: "bench" } });
  const url = `${baseUrl}/v1/organizations/${organizationId}/services/${service.id}/pipes`;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const sample = await fetch(url, { headers: { authorization } });
  const bytes = Buffer.from(await sample.arrayBuffer());
  const bare = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json; charset=utf-8", "content-length": bytes.length });
    response.end(bytes);
  }).listen(0, "127.0.0.1");
  await once(bare, "listening");
  const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;

  const ours: autocannon.Result[] = [];
  const theirs: autocannon.Result[] = [];
  for (let i = 0; i < rounds; i += 1) {
    theirs.push(await load(bareUrl, authorization));
    ours.push(await load(url, authorization));
  }
  bare.close();
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
