/**
 * What the Terraform providers and the command line of ClickHouse Cloud send, through the whole life of a service, its
 * pipes, its users and what is kept of ClickStack: recorded once with the programs themselves, and replayed everywhere.
 * `MILLRACE_RECORD=1` records again, where the programs are (see `harness/terraform.ts`, `harness/clickhousectl.ts`).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { clickhousectl, clickhousectlMissing } from "../../../harness/clickhousectl.ts";
import { CloudPeers, cloudPeersMissing } from "../../../harness/cloud-peers.ts";
import {
  type Exchange,
  jsonOr,
  type Names,
  type Recorder,
  replay,
  startRecorder,
} from "../../../harness/cloud-recording.ts";
import { responseProblems } from "../../../harness/cloud-responses.ts";
import { type BenchService, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { terraformFolder, terraformMissing } from "../../../harness/terraform.ts";

const missing = cloudPeersMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);
const records = process.env.MILLRACE_RECORD === "1";

const file = (name: string) => fileURLToPath(new URL(`./recordings/${name}.json`, import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(file(name), "utf8")) as Exchange[];
const endpointOf = ({ host, port }: BenchService) => `http://${host}:${port}`;

let peers: CloudPeers;
let served: Served;

describe.skipIf(missing !== undefined)("recordings", () => {
  beforeAll(async () => {
    peers = await CloudPeers.start();
  });
  afterAll(async () => {
    await peers?.[Symbol.asyncDispose]();
  });

  // A replay that fails leaves things behind.
  beforeEach(async () => {
    served = await serve({ env: peers.environment });
    return async () => await served[Symbol.asyncDispose]();
  });

  /** What differs from run to run. */
  const names = (): Names => {
    const { kafka, bucket, postgres } = peers.variables;
    const { host } = new URL(bucket.url);
    return {
      ...{ brokers: kafka.brokers, store: host, certificate: postgres.ca_certificate, postgres: postgres.port },
      organization: served.credentials.organizationId,
    };
  };

  const recorded = async (
    name: string,
    work: (recorder: Recorder) => Promise<void>,
    target = served.credentials.baseUrl,
  ) => {
    await using recorder = await startRecorder(target);
    await work(recorder);
    const lines = recorder.taken(names()).map((exchange) => JSON.stringify(exchange));
    writeFileSync(file(name), `[\n${lines.join(",\n")}\n]\n`);
  };

  const send = async ({ method, path, body }: Exchange) => {
    const { baseUrl, keyId, keySecret } = served.credentials;
    const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization, "content-type": "application/json; charset=utf-8" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    const [route = ""] = path.replace(/^\/cloud/, "").split("?");
    expect(responseProblems(method, route, response.status, answer)).toEqual([]);
    return { status: response.status, answer };
  };

  const noTerraform = terraformMissing();
  test.skipIf(!records || noTerraform !== undefined)("of Terraform are made", async () => {
    await recorded("terraform", lifeOfTerraform);
  });

  const noCommand = clickhousectlMissing();
  test.skipIf(!records || noCommand !== undefined)("of the command line are made", async () => {
    await recorded("clickhousectl", lifeOfCommands);
  });

  test.skipIf(!records || noTerraform !== undefined)("of Terraform at an endpoint are made", async () => {
    const service = await runningService(served);
    await recorded("clickhousedbops", (recorder) => lifeOfUsers(recorder, service.password), endpointOf(service));
  });

  test("of Terraform at an endpoint are answered as they were", async () => {
    const service = await runningService(served);
    const authorization = `Basic ${Buffer.from(`default:${service.password}`).toString("base64")}`;
    await replay(read("clickhousedbops"), names(), async ({ method, path, body }) => {
      const headers = { authorization, "x-clickhouse-format": "JSONCompactStrings" };
      const response = await fetch(`${endpointOf(service)}${path}`, { method, headers, body: String(body) });
      return { status: response.status, answer: jsonOr(await response.text()) };
    });
  });

  test.each(["terraform", "clickhousectl"])("of %s are answered as they were", async (name) => {
    await replay(read(name), names(), send);
  });
});

async function lifeOfTerraform({ url }: Recorder): Promise<void> {
  using folder = terraformFolder({ ...served.credentials, cloudApiUrl: `${url}/cloud/v1` });
  const { variables } = peers;
  const done = async (words: string, more: object = {}) => {
    const { code, output } = await folder.run(words.split(" "), { ...variables, ...more });
    if (code !== 0) throw new Error(`terraform ${words}: ${output}`);
    return output;
  };
  // One at a time, so that every recording has the same order.
  const apply = "apply -auto-approve -parallelism=1";
  const unchanged = "plan -detailed-exitcode";
  await done(apply);
  const params = { organizationId: served.credentials.organizationId };
  const [service] = await served.api.listServices({ params });
  const main = readFileSync(fileURLToPath(new URL("../../../examples/terraform/main.tf", import.meta.url)), "utf8");
  const provider = `provider "clickhouse" { clickstack_service_id = "${service?.id}" }`;
  folder.write("main.tf", main.replace('provider "clickhouse" {}', provider));
  const stack = readFileSync(fileURLToPath(new URL("./clickstack.tf", import.meta.url)), "utf8");
  folder.write("clickstack.tf", stack);
  expect(await done(apply)).toContain("6 added, 0 changed, 0 destroyed");
  await done(unchanged);
  folder.write(
    "clickstack.tf",
    stack.replace("threshold       = 100", "threshold       = 200").replace("SeverityText:error", "SeverityText:warn"),
  );
  const changed = {
    name: "renamed",
    memory_gb: 16,
    settings: { streaming_max_insert_wait_ms: 1000 },
    tables: ["orders", "users"],
  };
  await done(apply, changed);
  await done(unchanged, changed);
  await done(apply, { ...changed, stopped: true, settings: null });
  await done(unchanged, { ...changed, stopped: true, settings: null });
  const connection =
    'resource "clickhouse_clickstack_connection" "own" {\n  name = "renamed"\n  host = "h"\n  username = "default"\n  password = "x"\n}\n';
  folder.write("connection.tf", connection);
  await done(`import clickhouse_clickstack_connection.own ${service?.id}`, changed);
  await done("state rm clickhouse_clickstack_connection.own");
  folder.write("connection.tf", "");
  expect(await done("destroy -auto-approve -parallelism=1", changed)).toContain(
    "Destroy complete! Resources: 11 destroyed.",
  );
}

/** Databases, roles, users and their grants by statements. */
async function lifeOfUsers({ url }: Recorder, password: string): Promise<void> {
  const main = readFileSync(fileURLToPath(new URL("./dbops.tf", import.meta.url)), "utf8");
  using folder = terraformFolder(served.credentials, { "main.tf": main });
  const done = async (words: string, more: object = {}) => {
    const all = [...words.split(" "), "-parallelism=1"];
    const { code, output } = await folder.run(all, { port: Number(new URL(url).port), password, ...more });
    if (code !== 0) throw new Error(`terraform ${words}: ${output}`);
    return output;
  };
  for (const variables of [{}, { hash: "another" }]) {
    expect(await done("apply -auto-approve", variables)).toContain("Apply complete!");
    await done("plan -detailed-exitcode", variables);
  }
  expect(await done("destroy -auto-approve")).toContain("Destroy complete! Resources: 9 destroyed.");
}

async function lifeOfCommands({ url }: Recorder): Promise<void> {
  using ctl = clickhousectl({ ...served.credentials, cloudApiUrl: `${url}/cloud/v1` });
  const { variables } = peers;
  const { service } = await ctl.cloud("service", "create", "--name", "by command");
  const id: string = service.id;
  const untilIs = async (state: string, ...words: string[]) =>
    await until(`${words.join(" ")} is ${state}`, async () => (await ctl.cloud(...words)).state === state);
  await untilIs("running", "service", "get", id);
  await ctl.cloud("service", "list");
  const { brokers, username, password } = variables.kafka;
  const columns = ["--database", "default", "--column", "id:Int64", "--column", "name:String"];
  const broker = ["--brokers", brokers, "--topics", "events", "--format", "JSONEachRow", "--auth", "SCRAM-SHA-256"];
  const login = ["--username", username, "--password", password];
  const pipe = async (kind: string, name: string, ...more: string[]): Promise<string> =>
    (await ctl.cloud("clickpipe", "create", kind, id, "--name", name, ...more)).id;
  const events = await pipe("kafka", "events", ...broker, ...login, ...columns, "--table", "events");
  const { host, port } = variables.postgres;
  const source = ["--host", host, "--port", String(port), "--pg-database", "postgres", "--disable-tls"];
  const owner = ["--username", variables.postgres.username, "--password", variables.postgres.password];
  const shop = await pipe("postgres", "shop", ...source, ...owner, "--table-mapping", "public.orders:orders");
  for (const one of [events, shop]) await untilIs("Running", "clickpipe", "get", id, one);
  await ctl.cloud("clickpipe", "list", id);
  await ctl.cloud("clickpipe", "settings", "update", id, events, "--clickhouse-max-threads", "3");
  await ctl.cloud("clickpipe", "settings", "get", id, events);
  await ctl.cloud("clickpipe", "scale", id, events, "--memory-gb", "1");
  await ctl.cloud("clickpipe", "stop", id, events);
  await untilIs("Stopped", "clickpipe", "get", id, events);
  await ctl.cloud("clickpipe", "start", id, events);
  await ctl.cloud("clickpipe", "cdc-scaling", "get", id);
  await ctl.cloud("service", "backup-config", "get", id);
  await ctl.cloud("backup", "list", id);
  await ctl.cloud("key", "list");
  for (const one of [events, shop]) await ctl.cloud("clickpipe", "delete", id, one);
  await ctl.cloud("service", "delete", id, "--force");
}
