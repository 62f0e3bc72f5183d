/** Webhooks, saved searches, dashboards and alerts from the command line, and round the loop export, diff and apply. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type CommandLine, startCommandLine } from "./command-line.ts";

type Stage = CommandLine & {
  /** With an access token. */
  readonly millrace: (line: string | readonly string[], env?: Readonly<Record<string, string>>) => Promise<Done>;
  readonly call: (method: string, path: string, body?: object) => Promise<{ readonly body: { readonly data: Data } }>;
};
type Done = { readonly code: number; readonly stdout: string; readonly stderr: string };
// biome-ignore lint/suspicious/noExplicitAny: records under test are looked at member by member
type Data = any;

const stack = new AsyncDisposableStack();
let first: Stage;
let second: Stage;
let file: string;

/** A server with a service, a pipe and a source, whose ids are its own. */
async function stage(): Promise<Stage> {
  const line = stack.use(await startCommandLine());
  const { body } = await line.api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  const { accessToken } = body.result;
  const call = (method: string, path: string, sent?: object) =>
    line.api.call(method, `/api/v2${path}`, { auth: `Bearer ${accessToken}`, ...(sent && { body: sent }) });
  const serviceId = await line.createService("analytics");
  await line.createPipe(serviceId, "clicks");
  const from = { databaseName: "default", tableName: "logs" };
  await call("POST", "/sources", { name: "logs", kind: "log", from, serviceId, timestampValueExpression: "t" });
  const millrace = async (words: string | readonly string[], env = {}) =>
    await line.run(words, { env: { MILLRACE_ACCESS_TOKEN: accessToken, ...env } });
  return { ...line, millrace, call };
}

/** One of each kind; they name the service, the pipe, the source and one another. */
const documents = `kind: Webhook
name: pager
spec: { service: generic, url: "\${env:PAGER_URL}", body: "{{title}}" }
---
kind: SavedSearch
name: errors
spec: { sourceId: analytics/logs, where: "level:error", tags: [web] }
---
kind: Dashboard
name: overview
spec:
  tiles:
    - { id: rate, name: Rate, x: 0, y: 0, w: 6, h: 3, config: { displayType: line, sourceId: analytics/logs, select: [{ aggFn: count }] } }
  filters: [{ id: f, type: QUERY_EXPRESSION, name: host, expression: host, sourceId: analytics/logs }]
---
kind: Alert
name: many errors
spec: { savedSearchId: errors, threshold: 10, thresholdType: above, interval: 5m, channel: { type: webhook, webhookId: pager } }
---
kind: Alert
name: high rate
spec: { source: tile, dashboardId: overview, tileId: rate, threshold: 9, thresholdType: above, interval: 1m, channel: { type: webhook, webhookId: pager } }
---
kind: Alert
name: pipe failed
spec: { source: state, metric: pipe_attention, serviceId: analytics, pipeId: analytics/clicks, threshold: 1, thresholdType: above, interval: 1m, channel: { type: webhook, webhookId: pager } }
`;
const secrets = { PAGER_URL: "https://alerts.example.com/secret-path" };

beforeAll(async () => {
  [first, second] = [await stage(), await stage()];
  file = join(first.folder, "all.yaml");
});
afterAll(async () => await stack.disposeAsync());
beforeEach(() => writeFileSync(file, documents));

const apply = (at: Stage, ...more: string[]) => at.millrace(["apply", "-f", file, "--yes", ...more], secrets);
const diff = (at: Stage) => at.millrace(["diff", "-f", file, "--exit-code"]);
const exported = async (at: Stage) => (await at.millrace("export webhook search dashboard alert")).stdout;

test("nothing is made while a secret is missing", async () => {
  const { code, stderr } = await first.millrace(["apply", "-f", file, "--yes"]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("the environment has no PAGER_URL") });
  expect((await first.call("GET", "/webhooks")).body.data).toEqual([]);
});

test("apply makes them in their order, and then finds no difference", async () => {
  const { code, stderr } = await apply(first);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/created Webhook pager\n(.*\n)+created Alert pipe failed\n/),
  });
  expect(await diff(first)).toMatchObject({ code: 0, stdout: "no changes\n" });
  const { data } = (await first.call("GET", "/alerts")).body;
  const [{ id }] = (await first.call("GET", "/webhooks")).body.data;
  expect(data.map((alert: Data) => alert.channel.webhookId)).toEqual([id, id, id]);
});

test("what export writes has names and no secret, and makes the same objects on another server", async () => {
  const text = await exported(first);
  expect(text).toContain(`url: \${env:PAGER_URL}`);
  expect(text).not.toMatch(/secret-path|[0-9a-f]{8}-[0-9a-f]{4}-/);
  writeFileSync(file, text);
  expect(await diff(first)).toMatchObject({ code: 0, stdout: "no changes\n" });
  expect((await apply(second)).code).toBe(0);
  expect(await exported(second)).toBe(text);
});

test("a change is named by its member and made; ids are names too", async () => {
  const [{ id }] = (await first.call("GET", "/webhooks")).body.data;
  writeFileSync(
    file,
    documents.replace("threshold: 10", "threshold: 20").replace("webhookId: pager", `webhookId: ${id}`),
  );
  expect((await diff(first)).stdout).toContain(
    "~ Alert many errors\n    ~ threshold: 10 -> 20\n0 to create, 1 to change",
  );
  expect((await apply(first)).stderr).toBe("changed Alert many errors\n");
  const [alert] = (await first.call("GET", "/alerts")).body.data;
  expect(alert).toMatchObject({
    name: "many errors",
    threshold: 20,
    savedSearchId: expect.stringMatching(/^[0-9a-f]{8}-/),
  });
});

test("--update-secrets sends the URL of webhooks, and touches nothing else", async () => {
  const alerts = async () => (await first.call("GET", "/alerts")).body.data;
  writeFileSync(file, await exported(first));
  const before = await alerts();
  expect((await apply(first, "--update-secrets")).stderr).toBe("changed Webhook pager\n");
  expect(await alerts()).toEqual(before);
  expect((await first.call("GET", "/webhooks")).body.data[0]).toMatchObject({ version: 2, body: "{{title}}" });
});

test("a name that nothing has is an error at its line, and changes nothing", async () => {
  writeFileSync(
    file,
    documents.replace("threshold: 10", "threshold: 30").replace("webhookId: pager", "webhookId: nobody"),
  );
  const { code, stderr } = await apply(second);
  expect(code).toBe(5);
  expect(stderr).toMatch(/all\.yaml:\d+: spec\.channel\.webhookId: there is no Webhook nobody/);
  const [alert] = (await second.call("GET", "/alerts")).body.data;
  expect(alert.threshold).toBe(10);
});

test("an alert of states is created from flags, switched off and on, and deleted", async () => {
  writeFileSync(join(second.folder, "url"), `${secrets.PAGER_URL}\n`);
  const hook = await second.millrace("webhook create chat --url-file url --service slack -o json");
  expect(JSON.parse(hook.stdout)).toMatchObject({ name: "chat", service: "slack" });
  expect(hook.stdout).not.toContain("secret-path");
  const create = "alert create old --metric backup_age_hours --webhook chat --service analytics";
  expect((await second.millrace(create)).stderr).toContain("an alert needs either --above or --below");
  expect((await second.millrace(`${create} --above many`)).stderr).toContain(
    "--above many: not a number in decimal digits",
  );
  expect(await second.millrace(`${create} --above 26 --every 1h`)).toMatchObject({ code: 0 });
  const shown = async () => JSON.parse((await second.millrace("alert list -o json")).stdout).at(-1);
  expect(await shown()).toMatchObject({ name: "old", metric: "backup_age_hours", threshold: 26, interval: "1h" });
  expect((await second.millrace("webhook delete chat --yes")).code).toBe(7);
  expect((await second.millrace("alert disable old")).stderr).toBe("disabled old\n");
  expect((await shown()).state).toBe("DISABLED");
  expect((await second.millrace("alert enable old")).stderr).toBe("enabled old\n");
  expect((await second.millrace("alert evaluations old")).stderr).toContain("It was not evaluated yet.");
  expect((await second.millrace("alert list")).stdout).toMatch(/old +INSUFFICIENT_DATA .* above 26 +1h/);
  expect((await second.millrace("alert delete old --yes")).code).toBe(0);
  expect((await second.millrace("webhook delete chat --yes")).code).toBe(0);
});

test("an external service is compared without its password, too", async () => {
  const connection = { urls: ["https://ch.example.com"], username: "owner", password: "open-sesame" };
  const body = { name: "warehouse", runtime: "external", connection };
  expect((await first.api.call("POST", "/v1/organizations/{o}/services", { body })).status).toBe(200);
  writeFileSync(file, (await first.millrace("export --all")).stdout);
  expect(await first.millrace(["diff", "-f", file, "--exit-code"])).toMatchObject({ code: 0, stdout: "no changes\n" });
  const { stderr } = await first.millrace(["apply", "-f", file, "--yes", "--update-secrets"]);
  expect(stderr).toMatch(/the environment has no (WAREHOUSE_PASSWORD|CLICKS_\w+)/);
});
