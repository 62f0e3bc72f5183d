/**
 * The Terraform provider of ClickHouse Cloud with the files of `examples/terraform`: create, change, replace, import,
 * drift and destroy. The provider is not ours, and has to be given: see `harness/terraform.ts`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CloudPeers, cloudPeersMissing, cloudPassword as password } from "../../../harness/cloud-peers.ts";
import { type Served, serve, until } from "../../../harness/serve.ts";
import { type TerraformFolder, terraformFolder, terraformMissing } from "../../../harness/terraform.ts";

const missing = terraformMissing() ?? cloudPeersMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const apply = ["apply", "-auto-approve"];
const plan = ["plan", "-detailed-exitcode"];

let served: Served;
let peers: CloudPeers;
let graph: TerraformFolder;
let variables: object;

describe.skipIf(missing !== undefined)("Terraform", () => {
  beforeAll(async () => {
    peers = await CloudPeers.start();
    served = await serve({ env: { ...peers.environment, MILLRACE_IDLE_MINUTE_MS: "20000" } });
    graph = terraformFolder(served.credentials);
    variables = peers.variables;
  });
  afterAll(async () => {
    graph?.[Symbol.dispose]();
    await served?.[Symbol.asyncDispose]();
    await peers?.[Symbol.asyncDispose]();
  });

  // Each continues the one before.
  test("creates a service with four pipes, and sees no difference afterwards", async () => {
    expect(await done(graph, apply)).toContain("Apply complete! Resources: 5 added, 0 changed, 0 destroyed.");
    await unchanged(graph);
    const [service] = await services();
    await untilCounts(service as ServiceRecord, { events: 10, files: 15, stream: 10, "shop.orders": 20 });
  });

  const changed = { name: "renamed", memory_gb: 16, settings: { streaming_max_insert_wait_ms: 1000 } };
  const tables = ["orders", "users"];

  test("changes a service and its pipes in place", async () => {
    const output = await done(graph, apply, { ...changed, tables });
    expect(output).toContain("0 added, 3 changed, 0 destroyed");
    await unchanged(graph, { ...changed, tables });
  });

  test("removes settings, stops and starts a pipe, and removes a table", async () => {
    const stopped = { ...changed, tables, settings: null, stopped: true };
    expect(await done(graph, apply, stopped)).toContain("0 added, 1 changed, 0 destroyed");
    await unchanged(graph, stopped);
    const started = { ...stopped, stopped: false, tables: ["users"] };
    expect(await done(graph, apply, started)).toContain("0 added, 2 changed, 0 destroyed");
    await unchanged(graph, started);
  });

  const present = { name: "renamed", memory_gb: 16, tables: ["users"] };

  test("replaces a pipe whose topic changes", async () => {
    const { code, output } = await graph.run(plan, { ...variables, ...present, topic: "other" });
    expect(code, output).toBe(2);
    expect(output).toContain("# forces replacement");
    expect(output).toContain("1 to add, 0 to change, 1 to destroy");
  });

  test("imports what exists", async () => {
    using other = terraformFolder(served.credentials);
    const [service] = (await services()) as [ServiceRecord];
    const pipes = await send("GET", `/services/${service.id}/clickpipes`);
    const blocks = [`import {\n  to = clickhouse_service.warehouse\n  id = "${service.id}"\n}`];
    for (const { id, name } of pipes.result) {
      blocks.push(`import {\n  to = clickhouse_clickpipe.${name}\n  id = "${service.id}:${id}"\n}`);
    }
    other.write("imports.tf", blocks.join("\n"));
    // Passwords and credentials are sent once: no response has them.
    expect(await done(other, apply, present)).toContain("5 imported, 0 added, 5 changed, 0 destroyed");
    await unchanged(other, present);
  });

  test("sees a change that was made elsewhere", async () => {
    const [service] = (await services()) as [ServiceRecord];
    await send("PATCH", `/services/${service.id}`, { name: "elsewhere" });
    const { code, output } = await graph.run(plan, { ...variables, ...present });
    expect(code, output).toBe(2);
    expect(output).toContain("0 to add, 1 to change, 0 to destroy");
  });

  test("destroys all of it", async () => {
    const output = await done(graph, ["destroy", "-auto-approve"], present);
    expect(output).toContain("Destroy complete! Resources: 5 destroyed.");
    expect(await services()).toEqual([]);
  });

  test("wakes an idle service for a new pipe, which loads its objects once", async () => {
    using own = terraformFolder(served.credentials, { "main.tf": smallService("idle", { idleMinutes: 5 }) });
    await done(own, apply, null);
    const [service] = (await services()) as [ServiceRecord];
    await until("the service is idle", async () => (await services())[0]?.state === "idle", 300_000);
    own.write("pipe.tf", onePipe());
    const output = await done(own, apply, null);
    expect(output).toContain("1 added, 0 changed, 0 destroyed");
    expect(output).not.toMatch(/Warning: (?!Provider development overrides)/);
    await untilCounts(service, { once: 15 });
    await unchanged(own, null);
    await done(own, ["destroy", "-auto-approve"], null);
  });

  test("makes and destroys a webhook, and a service with a tier", async () => {
    using own = terraformFolder(served.credentials, {
      // The provider refuses sizes of this tier.
      "main.tf": smallService("tiered", { attributes: 'tier = "development"' }).replaceAll(/ {2}m.._replica_.*\n/g, ""),
    });
    await done(own, apply, null);
    await unchanged(own, null);
    const [service] = (await services()) as [ServiceRecord];
    own.write("provider.tf", `provider "clickhouse" {\n  clickstack_service_id = "${service.id}"\n}\n`);
    own.write(
      "webhook.tf",
      `resource "clickhouse_clickstack_webhook" "hook" {
  name    = "hook"
  service = "generic"
  url     = "https://1.1.1.1/secret"
}
`,
    );
    expect(await done(own, apply, null)).toContain("1 added, 0 changed, 0 destroyed");
    await unchanged(own, null);
    expect(await done(own, ["destroy", "-auto-approve"], null)).toContain("2 destroyed");
  });

  test("makes a service from a backup, without pipes", async () => {
    using own = terraformFolder(served.credentials, { "main.tf": smallService("original") });
    await done(own, apply, null);
    const [service] = (await services()) as [ServiceRecord];
    await sql(service, "CREATE TABLE kept (a Int8) ORDER BY a");
    await sql(service, "INSERT INTO kept VALUES (1), (2)");
    const params = { organizationId: served.credentials.organizationId, serviceId: service.id };
    const { id: backupId } = await served.api.createBackup({ params });
    await until("the backup is done", async () => {
      return (await served.api.getBackup({ params: { ...params, backupId } })).status === "done";
    });
    own.write(
      "copy.tf",
      smallService("copy", { attributes: `backup_id = "${backupId}"`, resource: "copy" }).replace(
        /^[\s\S]*?(?=resource)/,
        "",
      ),
    );
    expect(await done(own, apply, null)).toContain("1 added, 0 changed, 0 destroyed");
    const copy = (await services()).find(({ name }) => name === "copy") as ServiceRecord;
    expect(await sql(copy, "SELECT count() FROM kept")).toBe("2");
    expect((await send("GET", `/services/${copy.id}/clickpipes`)).result).toEqual([]);
    await done(own, ["destroy", "-auto-approve"], null);
  });

  test.each([
    ["horizontal scaling", "min_replicas = 1\n  max_replicas = 2", /horizontal|minReplicas/],
    ["encryption", "transparent_data_encryption = { enabled = true }", /hasTransparentDataEncryption|[Tt]ransparent/],
  ])("%s is refused by name, and nothing is left behind", async (_, attributes, name) => {
    using own = terraformFolder(served.credentials, { "main.tf": smallService("refused", { attributes }) });
    const { code, output } = await own.run(apply);
    expect(code, output).toBe(1);
    expect(output).toMatch(name);
    expect(await services()).toEqual([]);
  });
});

/** The output of a command that must succeed. Null: the files have no variables. */
async function done({ run }: TerraformFolder, args: readonly string[], more: object | null = {}): Promise<string> {
  const { code, output } = await run(args, more === null ? {} : { ...variables, ...more });
  if (code !== 0) throw new Error(`terraform ${args.join(" ")}: ${output}`);
  return output;
}

async function unchanged({ run }: TerraformFolder, more: object | null = {}): Promise<void> {
  const { code, output } = await run(plan, more === null ? {} : { ...variables, ...more });
  if (code !== 0) throw new Error(`terraform plan has a difference: ${output}`);
}

function smallService(name: string, { attributes = "", resource = "one", idleMinutes = 15 } = {}): string {
  return `terraform {
  required_providers {
    clickhouse = { source = "ClickHouse/clickhouse" }
  }
}
resource "clickhouse_service" "${resource}" {
  name           = "${name}"
  cloud_provider = "aws"
  region         = "us-east-1"
  password       = "${password}"
  idle_scaling   = true
  min_replica_memory_gb = 8
  max_replica_memory_gb = 8
  idle_timeout_minutes  = ${idleMinutes}
  ip_access      = [{ source = "0.0.0.0/0", description = "anywhere" }]
  ${attributes}
}
`;
}

function onePipe(): string {
  const { endpoint, bucket, accessKey } = peers.store;
  return `resource "clickhouse_clickpipe" "once" {
  name       = "once"
  service_id = clickhouse_service.one.id
  source = { object_storage = {
    type           = "s3"
    format         = "JSONEachRow"
    url            = "${endpoint}/${bucket}/*.json"
    authentication = "IAM_USER"
    access_key     = { access_key_id = "${accessKey.accessKeyId}", secret_key = "${accessKey.secretKey}" }
  } }
  destination = {
    table            = "once"
    managed_table    = true
    table_definition = { engine = { type = "MergeTree" }, sorting_key = ["id"] }
    columns          = [{ name = "id", type = "Int64" }]
  }
  field_mappings = [{ source_field = "id", destination_field = "id" }]
}
`;
}

type ServiceRecord = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly endpoints: readonly { readonly host: string; readonly port: number }[];
};

async function send(method: string, path: string, body?: object) {
  const { cloudApiUrl, keyId, keySecret, organizationId } = served.credentials;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const response = await fetch(`${cloudApiUrl}/organizations/${organizationId}${path}`, {
    method,
    headers: { authorization, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: bodies under test are looked at member by member
  return (await response.json()) as any;
}

async function services(): Promise<readonly ServiceRecord[]> {
  return (await send("GET", "/services")).result;
}

async function sql({ endpoints: [endpoint] }: ServiceRecord, statement: string): Promise<string> {
  const response = await fetch(`http://${endpoint?.host}:${endpoint?.port}/`, {
    method: "POST",
    headers: { "x-clickhouse-user": "default", "x-clickhouse-key": password },
    body: statement,
  });
  return (await response.text()).trim();
}

async function untilCounts(service: ServiceRecord, counts: Readonly<Record<string, number>>): Promise<void> {
  for (const [table, count] of Object.entries(counts)) {
    await until(`${count} rows in ${table}`, async () => {
      return (await sql(service, `SELECT uniqExact(id) FROM ${table}`)) === String(count);
    });
  }
}
