/**
 * This version opens the metadata of an earlier one and loses nothing: services with users, backups, saved queries,
 * chart sources, dashboards, webhooks and alerts. `test/real/pipes/upgrade.test.ts` does so for pipes.
 * MILLRACE_EARLIER_TREE names the tree of that version, with its packages.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { query, runningService, type Served, serve, until } from "../../../harness/serve.ts";
import { type Example, requestExamples } from "../../../src/api/examples.ts";

const tree = process.env.MILLRACE_EARLIER_TREE;
const missing = tree === undefined || !existsSync(join(tree, "src/main.ts"));
if (missing) console.warn("upgrade of metadata: skipped, MILLRACE_EARLIER_TREE names no tree of an earlier version");

/** Tables of what happens, rather than of what there is. */
const passing = new Set([
  "migrations",
  "leases",
  "nodes",
  "audit_events",
  "activities",
  "store_facts",
  "alert_evaluations",
]);
/** Columns that every start writes. */
const observed = /state|updated_at|used_at|version|wake|restarts|rows|bytes|elsewhere|node_id|generation/;

/** Every row of the metadata, without what every start writes. */
function contents(dataDir: string): Readonly<Record<string, readonly string[]>> {
  using db = new DatabaseSync(join(dataDir, "millrace.db"), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  const rowsOf = (table: string) =>
    db
      .prepare(`SELECT * FROM "${table}"`)
      .all()
      .map((row) => JSON.stringify(Object.entries(row).filter(([column]) => !observed.test(column))))
      .toSorted();
  const names = tables.map(({ name }) => String(name)).filter((name) => !passing.has(name));
  return Object.fromEntries(names.map((name) => [name, rowsOf(name)]));
}

/** The first example of an operation. */
function example(operation: string): object {
  const [first] = requestExamples[operation] as readonly Example[];
  return first?.body as object;
}

async function post(served: Served, path: string, body: object, token: string): Promise<string> {
  const headers = { "content-type": "application/json", authorization: token };
  const answer = await fetch(`${served.credentials.baseUrl}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  expect(answer.status, `${path}: ${text}`).toBeLessThan(300);
  const { data, result, id } = JSON.parse(text);
  return (data ?? result ?? { id }).id;
}

test.skipIf(missing)("what an earlier version has stored is there", async () => {
  const earlier = await serve({ tree: tree as string, keepData: true });
  const { organizationId, keyId, keySecret, accessToken } = earlier.credentials;
  const key = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
  const token = `Bearer ${accessToken}`;
  const service = await runningService(earlier, { idleScaling: false });
  await query(service, "CREATE TABLE logs (Timestamp DateTime, Body String) ENGINE = MergeTree ORDER BY Timestamp");
  await query(service, "INSERT INTO logs SELECT now(), toString(number) FROM numbers(1000)");
  const root = `/v1/organizations/${organizationId}`;
  await post(earlier, `${root}/savedObjects`, example("createSavedObject"), key);
  await post(earlier, `${root}/services/${service.id}/users`, example("createServiceUser"), key);
  const backupId = await post(earlier, `${root}/services/${service.id}/backups`, {}, key);
  await until("the backup is verified", async () => {
    const params = { ...service.params, backupId };
    return (await earlier.api.getBackup({ params })).verification === "passed";
  });
  const source = { ...example("createSource"), serviceId: service.id };
  const sourceId = await post(earlier, "/api/v2/sources", source, token);
  const savedSearchId = await post(
    earlier,
    "/api/v2/saved-searches",
    { ...example("createSavedSearch"), sourceId },
    token,
  );
  const dashboard = JSON.stringify(example("createDashboard")).replaceAll(
    /"sourceId":"[^"]+"/g,
    `"sourceId":"${sourceId}"`,
  );
  await post(earlier, "/api/v2/dashboards", JSON.parse(dashboard), token);
  const webhookId = await post(earlier, "/api/v2/webhooks", example("createWebhook"), token);
  const channel = { type: "webhook", webhookId };
  await post(earlier, "/api/v2/alerts", { ...example("createAlert"), savedSearchId, channel }, token);
  await earlier.stop();

  const before = contents(earlier.dataDir);
  for (const table of ["services", "backups", "saved_objects", "alerts", "chart_sources", "webhooks"]) {
    expect(before[table]?.length, table).toBeGreaterThan(0);
  }
  await using later = await serve({ dataDir: earlier.dataDir });
  await until("the service runs", async () => (await later.api.getService(service)).state === "running");
  expect(contents(earlier.dataDir)).toMatchObject(before);
  expect((await query(service, "SELECT count() FROM logs")).trim()).toBe("1000");
});
