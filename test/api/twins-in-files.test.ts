/** Objects that share a name: what `export` writes of them is what `apply` and `diff` read. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { type CommandLine, startCommandLine } from "./command-line.ts";

// biome-ignore lint/suspicious/noExplicitAny: records under test are looked at member by member
type Data = any;
type Stage = CommandLine & {
  readonly millrace: (line: string, env?: Readonly<Record<string, string>>) => ReturnType<CommandLine["run"]>;
  readonly call: (method: string, path: string, body?: object) => Promise<{ readonly body: { readonly data: Data } }>;
};

const stack = new AsyncDisposableStack();
afterAll(async () => await stack.disposeAsync());

async function stage(): Promise<Stage> {
  const line = stack.use(await startCommandLine());
  const { body } = await line.api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  const { accessToken } = body.result;
  return {
    ...line,
    millrace: (words, env = {}) => line.run(words, { env: { MILLRACE_ACCESS_TOKEN: accessToken, ...env } }),
    call: (method, path, sent) =>
      line.api.call(method, `/api/v2${path}`, { auth: `Bearer ${accessToken}`, ...(sent && { body: sent }) }),
  };
}

let first: Stage;
let file: string;
const ids: string[] = [];

/** Names of webhooks are those of one kind of receiver. */
const kinds = [
  ["one", "generic"],
  ["two", "slack"],
] as const;

/** Two of everything, with one name each; of the second service there are two pipes of the name. */
beforeAll(async () => {
  first = await stage();
  file = join(first.folder, "all.yaml");
  for (const [which, service] of kinds) {
    const serviceId = await first.createService("analytics");
    ids.push(serviceId, await first.createPipe(serviceId, "clicks"));
    if (which === "two") ids.push(await first.createPipe(serviceId, "clicks"));
    const from = { databaseName: "default", tableName: which };
    const source = { name: "logs", kind: "log", from, serviceId, timestampValueExpression: "t" };
    const { id: sourceId } = (await first.call("POST", "/sources", source)).body.data;
    const hook = { name: "pager", service, url: `https://alerts.example.com/${which}` };
    const { id: webhookId } = (await first.call("POST", "/webhooks", hook)).body.data;
    const search = { name: "errors", sourceId, where: `level:${which}` };
    const { id: savedSearchId } = (await first.call("POST", "/saved-searches", search)).body.data;
    const config = { displayType: "line", sourceId, select: [{ aggFn: "count" }] };
    const tiles = [{ id: "rate", name: which, x: 0, y: 0, w: 6, h: 3, config }];
    await first.call("POST", "/dashboards", { name: "overview", tiles });
    const alert = { threshold: 1, thresholdType: "above", interval: "5m", channel: { type: "webhook", webhookId } };
    const seen = { ...alert, name: "many", source: "saved_search", savedSearchId };
    expect(await first.call("POST", "/alerts", seen)).toMatchObject({ status: 200 });
  }
});

const documentsOf = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Data);

test("the server that they are of has no difference to their file, and keeps them with --prune", async () => {
  writeFileSync(file, (await first.millrace("export --all")).stdout);
  expect(await first.millrace(`diff -f ${file} --exit-code --prune`)).toMatchObject({
    ...{ code: 0, stdout: "no changes\n" },
  });
});

test("each has variables of its own", async () => {
  const variables = (await first.millrace("export --all")).stdout.match(/\$\{env:\w+\}/g) ?? [];
  expect(new Set(variables).size).toBe(variables.length);
  expect(variables.length).toBe(2);
});

test("a server without them makes as many, which refer to one another as they did", async () => {
  const second = await stage();
  const text = (await first.millrace("export service schedule source webhook search dashboard alert")).stdout;
  const copy = join(second.folder, "copy.yaml");
  writeFileSync(copy, text);
  const urls = (text.match(/(?<=\$\{env:)\w+/g) ?? []).map((name) => [name, `https://alerts.example.com/${name}`]);
  // Nothing runs the services here.
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const { body } = await second.api.call("GET", "/v1/organizations/{o}/services");
      for (const { id } of body.result) await second.api.services.setState(id, "running", null);
      await delay(100);
    }
  };
  const running = run();
  const { code, stderr } = await second.millrace(`apply -f ${copy} --yes`, Object.fromEntries(urls)).finally(() => {
    isOver = true;
  });
  await running;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [services, made] = await Promise.all([
    second.api.call("GET", "/v1/organizations/{o}/services"),
    second.millrace("export service schedule source webhook search dashboard alert"),
  ]);
  expect(services.body.result.map(({ name }: Data) => name)).toEqual(["analytics", "analytics"]);
  const whole = (documents: readonly Data[]) => documents.map(({ kind, name, spec }) => [kind, name, shapeOf(spec)]);
  expect(whole(documentsOf(made.stdout)).toSorted()).toEqual(whole(documentsOf(text)).toSorted());
  for (const [which, service] of kinds) {
    const of = async (path: string, found: (one: Data) => boolean) =>
      (await second.call("GET", path)).body.data.find(found);
    const hook = await of("/webhooks", (one) => one.service === service);
    const source = await of("/sources", ({ from }) => from.tableName === which);
    const search = await of("/saved-searches", ({ where }) => where === `level:${which}`);
    expect(search.sourceId).toBe(source.id);
    const alert = await of("/alerts", ({ savedSearchId }) => savedSearchId === search.id);
    expect(alert.channel.webhookId).toBe(hook.id);
  }
  const again = await second.millrace(`diff -f ${copy}`, Object.fromEntries(urls));
  expect(again).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /yaml:3: Service analytics has not the id [0-9a-f-]+\n +[0-9a-f-]+: Service analytics\n/,
    ),
  });
});

/** Without ids, which are those of the server, and variables, which contain them. */
function shapeOf(spec: object): unknown {
  const id = /[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}/gi;
  return JSON.parse(JSON.stringify(spec).replaceAll(id, "id"));
}
