/**
 * `npm run test:clients [-- NAME...]`: runs the official ClickHouse clients, unchanged, against a service of a new
 * server. A client's own integration tests run where its registry has them, else a script that uses the client. The
 * last line is JSON; `ok` is false when a test failed that `known-failures.ts` does not explain.
 */

import { MissingTool } from "../../harness/missing.ts";
import { query, runningService, serve } from "../../harness/serve.ts";
import { dbt } from "./dbt.ts";
import { go } from "./go.ts";
import { knownFailure } from "./known-failures.ts";
import { migrate } from "./migrate.ts";
import { klickhouse, rust } from "./rust.ts";
import { asynch, connect, driver, java, node } from "./smoke.ts";
import type { Suite, Target } from "./suite.ts";

const suites: Readonly<Record<string, Suite>> = {
  ...{ go, python: connect, driver, asynch, migrate, node, rust, klickhouse, java, dbt },
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => suites[name] === undefined);
if (unknown.length > 0) {
  console.error(`usage: npm run test:clients [-- NAME...]\nclients: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}

type Row = {
  client: string;
  version: string;
  suite: string;
  passed: number;
  failed: number;
  known: number;
  skipped: number;
};
const rows: Row[] = [];
const missing: string[] = [];
const problems: string[] = [];

// The suites expect the time zone that servers in containers have.
await using served = await serve({ env: { TZ: "UTC" } });
const service = await runningService(served);
const version = await query(service, "SELECT version()");
const target: Target = {
  host: service.host,
  port: service.port,
  nativePort: await nativePort(),
  password: service.password,
  version,
};
for (const name of names.length > 0 ? names : Object.keys(suites)) await runSuite(name, suites[name] as Suite);

console.log("client | version | suite | passed | failed | known | skipped");
for (const row of rows) console.log(Object.values(row).join(" | "));
for (const text of [...missing, ...problems]) console.log(text);
const ok = problems.length === 0;
console.log(JSON.stringify({ command: "test:clients", ok, engine: version, clients: rows, missing }));
process.exitCode = ok ? 0 : 1;

async function nativePort(): Promise<number> {
  const { endpoints } = await served.api.getService({ params: service.params });
  return endpoints.find(({ protocol }) => protocol === "native")?.port ?? 0;
}

async function runSuite(name: string, suite: Suite): Promise<void> {
  const { client, kind } = suite;
  console.log(`# ${client} ${suite.version}: ${kind}${suite.note === undefined ? "" : `, because ${suite.note}`}`);
  try {
    const { passed, failed, skipped } = await suite.run(target);
    const unexplained = failed.filter((test) => knownFailure(name, test) === undefined);
    const known = failed.length - unexplained.length;
    rows.push({ client, version: suite.version, suite: kind, passed, failed: unexplained.length, known, skipped });
    for (const test of unexplained) problems.push(`${client} failed: ${test}`);
  } catch (error) {
    if (!(error instanceof MissingTool)) throw error;
    missing.push(`${client} is skipped: ${error.message}`);
  }
}
