/** What `apply` says of files with mistakes: which line, what was wrong, and that nothing has been changed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { objectKinds } from "../../src/cli/apply/files.ts";
import { type CommandLine, startCommandLine } from "./command-line.ts";

let line: CommandLine;
let accessToken: string;

beforeAll(async () => {
  line = await startCommandLine();
  await line.createPipe(await line.createService("analytics"), "clicks");
  const { body } = await line.api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  ({ accessToken } = body.result);
});
afterAll(async () => await line[Symbol.asyncDispose]());

async function apply(file: string, ...more: string[]) {
  writeFileSync(join(line.folder, "x.yaml"), file);
  const env = { MILLRACE_ACCESS_TOKEN: accessToken };
  return await line.run(["apply", "-f", "x.yaml", "--yes", ...more], { env });
}

test.each([
  ["minReplicaMemoryGB", "cannot be added to an object that exists; did you mean minReplicaMemoryGb?"],
  ["zzz", "cannot be added to an object that exists; is its name right?"],
])("a service's member %s that the API does not have is refused, and not called changed", async (name, message) => {
  const { code, stderr } = await apply(`kind: Service\nname: analytics\nspec:\n  ${name}: 2\n`);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(`x.yaml:4: Service analytics: ${name} ${message}`),
  });
  expect(stderr).not.toContain("changed Service");
});

test("a misspelt member of a pipe that exists is called so, before the pipe's deletion is advised", async () => {
  const { code, stderr } = await apply(
    "kind: Pipe\nname: clicks\nservice: analytics\nspec:\n  destination: { tabl: x }\n",
  );
  expect(code).toBe(1);
  expect(stderr).toContain(
    "x.yaml:5: Pipe analytics/clicks: destination.tabl cannot be added to an object that exists; did you mean table?",
  );
  expect(stderr).toContain("hint: Correct the names of members that are not known.");
});

test("a name that nothing has is told with its line, and nothing is made", async () => {
  const webhook = 'kind: Webhook\nname: pager\nspec: { service: generic, url: "https://alerts.example.com/x" }\n';
  const alert = `kind: Alert
name: stuck
spec:
  source: state
  metric: pipe_attention
  pipeId: analytics/views
  threshold: 1
  thresholdType: above
  interval: 1m
  channel: { type: webhook, webhookId: pager }
`;
  expect(await apply(`${webhook}---\n${alert}`)).toEqual({
    code: 5,
    stdout: "",
    stderr: expect.stringContaining("x.yaml:10: spec.pipeId: there is no Pipe analytics/views"),
  });
  expect(await apply(alert.replace("analytics/views", "analytics/clicks"))).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("x.yaml:10: spec.channel.webhookId: there is no Webhook pager"),
  });
  const made = await apply(`${webhook}---\n${alert.replace("analytics/views", "analytics/clicks")}`);
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("created Alert stuck") });
});

const changes = `kind: Service
name: asleep
spec: { tags: [{ key: team, value: web }] }
---
kind: Pipe
name: views
service: asleep
spec:
  destination: { columns: [{ name: a, type: UInt16 }] }
`;

test("a change of a pipe whose service does not run is refused before anything is changed", async () => {
  const id = await line.createService("asleep");
  await line.createPipe(id, "views");
  await line.api.services.setDesired(id, "stopped");
  await line.api.services.setState(id, "stopped", null);
  expect(await apply(changes)).toMatchObject({
    code: 1,
    stderr: `millrace: SERVICE_NOT_RUNNING: x.yaml:6: Pipe asleep/views: service asleep is stopped, and has to run
hint: Start it: millrace service start asleep
`,
  });
  expect((await line.api.services.find(id))?.tags).toEqual([]);
  // Settings need no engine.
  expect(
    await apply(changes.replace(/ {2}destination.*/, "  settings: { object_storage_concurrency: 3 }")),
  ).toMatchObject({ code: 0, stderr: "changed Service asleep\nchanged Pipe asleep/views\n" });
});

test("a service that sleeps is woken before the first change", async () => {
  const id = await line.createService("sleeper");
  await line.createPipe(id, "views");
  const { services } = line.api;
  const waking = async (change: Promise<{ stderr: string }>) => {
    await vi.waitUntil(async () => (await services.find(id))?.wakeRequested === true, { timeout: 10_000 });
    expect((await services.find(id))?.tags).toEqual([]);
    await services.setState(id, "running", null);
    return (await change).stderr;
  };
  const woken = /^waking sleeper\n(sleeper: (awaking|running).*\n)+/;
  await services.setState(id, "idle", null);
  expect(await waking(line.run("pipe update sleeper/views --column a:UInt16"))).toMatch(woken);
  await services.setState(id, "idle", null);
  expect(await waking(apply(changes.replaceAll("asleep", "sleeper")))).toMatch(
    new RegExp(`${woken.source}changed Service sleeper\n`),
  );
});

test("a file without a document is a mistake, so that `--prune` does not delete everything", async () => {
  for (const more of [[], ["--prune"]]) {
    const { code, stderr } = await apply("# the generator failed\n", ...more);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "millrace: x.yaml: has no document\n" });
  }
});

test("what needs an access token says so before anything is made, and is never left out silently", async () => {
  writeFileSync(
    join(line.folder, "y.yaml"),
    "kind: Service\nname: half\nspec: {}\n---\nkind: Webhook\nname: half\nspec: { service: generic, url: https://a.example/ }\n",
  );
  for (const command of ["apply -f y.yaml --yes", "diff -f y.yaml", "export --all", "export alert"]) {
    const { code, stdout, stderr } = await line.run(command);
    expect({ command, code, stdout, stderr }).toMatchObject({
      ...{ command, code: 4, stdout: "", stderr: expect.stringContaining("need an access token") },
    });
  }
  expect((await line.run("service list -o name")).stdout).not.toContain("half");
});

test("a key that may only read exports pipes and plans, also what is pruned, whatever its access token", async () => {
  const body = { name: "reader", roles: ["read_only"] };
  const { result } = (await line.api.call("POST", "/v1/organizations/{o}/keys", { body })).body;
  const env = { MILLRACE_KEY: `${result.keyId}:${result.keySecret}` };
  const exported = await line.run("export", { env: { ...env, MILLRACE_ACCESS_TOKEN: "refused" } });
  expect(exported).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("kind: Pipe") });
  writeFileSync(join(line.folder, "y.yaml"), exported.stdout);
  expect(await line.run("diff -f y.yaml --prune", { env })).toMatchObject({ code: 0, stdout: "no changes\n" });
});

test("a name that is missing is asked for, and a specification that is a list is refused", async () => {
  const list = await apply("kind: Service\nname: listed\nspec: []\n");
  expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining("x.yaml:3: spec must be a mapping") });
  const { code, stderr } = await apply("kind: Service\nspec: {}\n");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("x.yaml:1: name is required") });
});

test("the help lists every kind of document", async () => {
  const { stdout } = await line.run("help apply-file");
  for (const kind of objectKinds) expect(stdout).toMatch(new RegExp(`kind: .*\\b${kind}\\b`));
});

test("a key that expires is compared with all that it has: the second run finds no difference", async () => {
  const file = 'kind: Key\nname: ci\nspec: { roles: [read_only], expireAt: "2999-01-01T00:00:00Z" }\n';
  expect(await apply(file, "--secrets-file", "keys")).toMatchObject({ code: 0, stderr: "created Key ci\n" });
  expect(await apply(file)).toMatchObject({ code: 0, stdout: "no changes\n" });
  const changed = file.replace("2999", "2998");
  expect(await apply(changed)).toMatchObject({ code: 0, stderr: "changed Key ci\n" });
  expect(await apply(changed)).toMatchObject({ code: 0, stdout: "no changes\n" });
});

test.each([
  ["contain themselves", "kind: Service\nname: a\nspec: &x\n  tags: *x\n"],
  [
    "repeat without end",
    `kind: Service\nname: a\nspec:\n  a0: &a0 [x, x, x]\n${Array.from({ length: 9 }, (_, n) => `  a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(", ")}]\n`).join("")}`,
  ],
])("aliases that %s are refused with the file and the line", async (_, file) => {
  const { code, stderr } = await apply(file);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("x.yaml:1: has aliases that contain") });
});
