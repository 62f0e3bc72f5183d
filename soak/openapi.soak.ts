/**
 * Schemathesis over the whole OpenAPI document: random requests, valid and not, to a server with a running service. No
 * response is a 5xx other than 503, has a status or content type that the document does not name, or differs from its
 * schema. `SEED` repeats a run, `COUNT` bounds the requests per operation and phase, `SECONDS` the time of each part.
 *
 * The document that Schemathesis reads differs in one respect: parameters of paths are ids of objects that exist, since
 * a random id shows only one response. The operations run in three parts, so that none removes what another needs: the
 * observability API, then the management API, last the deletions with `updateServiceState`, because other requests wait
 * for a service that starts, and a service that runs is not deleted. No operation is left out. The key in use is not
 * among the objects. The server may connect to this machine alone, so that random sources reach nobody.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backUp } from "../harness/backups.ts";
import { numberOf, seedOf } from "../harness/bounds.ts";
import { observabilityCall } from "../harness/charts/observability.ts";
import { requireTool } from "../harness/missing.ts";
import { startFauxqs } from "../harness/objects/pipe-stores.ts";
import { createPipe, pipeBody, rows, untilRows } from "../harness/pipes.ts";
import { schemathesis, schemathesisMissing } from "../harness/schemathesis.ts";
import { type BenchService, runningService, type Served, serve } from "../harness/serve.ts";

export const description = "no random request has a response that openapi.json does not describe";

const seed = seedOf();
const count = numberOf("COUNT", 10);
const seconds = numberOf("SECONDS", 120);

const checks = [
  ...["not_a_server_error", "status_code_conformance", "content_type_conformance"],
  ...["response_headers_conformance", "response_schema_conformance"],
].join(",");
/** 503: a service that is waking or under change. */
const config = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 503]\n';

const ending = "updateServiceState";
const charts = ["--exclude-path-regex", "^/v1/"];
const management = ["--exclude-path-regex", "^/api/"];
const changes = [...management, "--exclude-method", "DELETE", "--exclude-operation-id", ending];
// Schemathesis joins what is included.
const deletions = [...management, "--include-method", "DELETE", "--include-operation-id", ending];

// Each service has an engine: few fit on a machine.
const env = {
  MILLRACE_PIPE_SOURCE_NETWORKS: "127.0.0.1",
  MILLRACE_SERVICES_PER_ORGANIZATION: "2",
  MILLRACE_LOG_LEVEL: "error",
};

export async function run(): Promise<Record<string, string | number>> {
  requireTool(schemathesisMissing());
  console.log(`SEED=${seed} COUNT=${count} SECONDS=${seconds}`);
  const folder = mkdtempSync(join(tmpdir(), "millrace-openapi-"));
  try {
    await using store = await startFauxqs();
    await using served = await serve({ env });
    const service = await runningService(served, { idleScaling: false, minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 });
    await store.put("in/1.json", rows(0, 10));
    const pipeId = await createPipe(served, service, pipeBody(store, "in/*.json", "orders"));
    await untilRows(served, service, "orders", 10);
    const ids = await objectsOf(served, service, pipeId);
    return { seed, ...(await askAll(folder, served, ids)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Ids = Readonly<Record<string, string>>;

/** One object for each parameter of a path; a random value for the others. */
async function objectsOf(served: Served, service: BenchService, pipeId: string): Promise<Ids> {
  const { api, credentials } = served;
  const { organizationId } = credentials;
  const params = { organizationId };
  const made = await api.createKey({ params, body: { name: "other", roles: ["developer"] } });
  const { token } = await api.createAccessToken({ params, body: { name: "other" } });
  await api.createServiceUser({ params: service.params, body: { name: "analyst" } });
  const content = { query: "SELECT 1" };
  const saved = await api.createSavedObject({ params, body: { kind: "query", name: "one", content } });
  const backup = await backUp(served, service);
  const part = { database: "default", table: "orders", targetDatabase: "default", targetTable: "orders_again" };
  const restore = await api.restoreBackup({ params: { ...service.params, backupId: backup.id }, body: part });
  const source = await createSource(served, service.id);
  const { activities } = await api.listActivities({ params });
  return {
    ...{ organizationId, serviceId: service.id, pipeId, keyId: made.key.id, tokenId: token.id, userName: "analyst" },
    ...{ savedObjectId: saved.id, backupId: backup.id, restoreId: restore.id, id: source },
    ...{ database: "default", table: "orders", activityId: activities[0]?.id as string },
  };
}

async function createSource(served: Served, serviceId: string): Promise<string> {
  const { json } = await observabilityCall(served, "POST", "/api/v2/sources", {
    ...{ name: "orders", kind: "table", serviceId, timestampValueExpression: "now()" },
    from: { databaseName: "default", tableName: "orders" },
  });
  return (json as { data: { id: string } }).data.id;
}

type Parameter = { readonly name: string; readonly in: string; schema: object };
type Document = { readonly paths: Record<string, Record<string, { readonly parameters: Parameter[] }>> };

/** Parameters of paths have these values alone. */
function withIds(document: Document, ids: Ids): Document {
  for (const methods of Object.values(document.paths)) {
    for (const { parameters } of Object.values(methods)) {
      for (const parameter of parameters) {
        const id = parameter.in === "path" ? ids[parameter.name] : undefined;
        if (id !== undefined) parameter.schema = { type: "string", enum: [id] };
      }
    }
  }
  return document;
}

async function askAll(folder: string, served: Served, ids: Ids): Promise<Record<string, number>> {
  const { baseUrl, keyId, keySecret, accessToken } = served.credentials;
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document;
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(withIds(document, ids)));
  writeFileSync(join(folder, "schemathesis.toml"), config);
  const bounds = ["--seed", `${seed}`, "--max-examples", `${count}`, "--max-time", `${seconds}`];
  // Stateful sequences would delete what the other parts need.
  const common = ["openapi.json", "--url", baseUrl, ...bounds, "--phases", "examples,coverage,fuzzing"];
  const basic = ["--auth", `${keyId}:${keySecret}`];
  const parts: [string, string[]][] = [
    ["chartRequests", [...charts, "--header", `Authorization: Bearer ${accessToken}`]],
    ["requests", [...changes, ...basic]],
    ["deletions", [...deletions, ...basic]],
  ];
  const counts: Record<string, number> = {};
  const failed: string[] = [];
  for (const [name, selection] of parts) {
    const args = [...common, "--checks", checks, "--continue-on-failure", ...selection];
    const { ok, output } = await schemathesis(folder, args, 4 * seconds * 1000);
    counts[name] = Number(/(\d+) generated/.exec(output)?.[1] ?? 0);
    const [, selected, tested] = /Selected: (\d+)\/\d+\s+Tested: (\d+)/.exec(output) ?? [];
    if (!ok || tested === undefined || tested !== selected) failed.push(`${name}:\n${output}`);
  }
  if (failed.length > 0) throw new Error(failed.join("\n\n"));
  return counts;
}
