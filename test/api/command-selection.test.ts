/** Commands against the real API: several objects at once, pages, output that repeats, links for the browser. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { startCommandLine } from "./command-line.ts";

const commands = await startCommandLine();
const { api, folder, run, createService, createPipe } = commands;
const web = await createService("web", [{ key: "team", value: "web" }]);
const data = await createService("data", [{ key: "team", value: "data" }]);
const pipeIds = [await createPipe(web, "clicks"), await createPipe(web, "views"), await createPipe(data, "orders")];
afterAll(async () => await commands[Symbol.asyncDispose]());

describe("--selector", () => {
  test("selects services by tags, and pipes by the tags of their services", async () => {
    expect((await run("service list -l team=data -o name")).stdout).toBe("data\n");
    expect((await run("pipe list --selector team!=data -o name")).stdout).toBe("clicks\nviews\n");
    expect(await run("pipe list -l team=nobody")).toMatchObject({ code: 5, stdout: "" });
    expect(await run("pipe list -l =")).toMatchObject({ code: 2, stdout: "" });
  });

  test("a command reaches exactly the selected objects", async () => {
    expect(await run("pipe stop -l team=web")).toMatchObject({ code: 0 });
    const desired = await Promise.all(pipeIds.map(async (id) => (await api.pipes.find(id))?.desiredState));
    expect(desired).toEqual(["stopped", "stopped", "running"]);
    expect((await run("service stop -l team=data")).stderr).toMatch(/^data: stopping\n$/);
  });

  test("settings and definitions of the selected pipes change, those of others do not", async () => {
    expect(await run("pipe settings -l team=web streaming_max_insert_wait_ms=900")).toMatchObject({ code: 0 });
    const all = JSON.parse((await run("pipe settings --all -o json")).stdout) as { name: string }[];
    const changed = { streaming_max_insert_wait_ms: 900 };
    // Pipes of the same millisecond have no order of their own.
    expect(all.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: "clicks", settings: changed },
      { name: "orders", settings: {} },
      { name: "views", settings: changed },
    ]);
    writeFileSync(join(folder, "change.yaml"), "settings:\n  streaming_max_insert_wait_ms: 700\n");
    expect((await run("pipe update -l team=data -f change.yaml")).stderr).toBe("changed orders\n");
    expect((await run("pipe settings orders -o json")).stdout).toContain("700");
    expect((await run("pipe settings clicks -o json")).stdout).toContain("900");
    for (const line of ["pipe update -l team=web --name x", "pipe settings clicks a=1 -l team=web", "pipe settings"]) {
      expect([line, await run(line)]).toMatchObject([line, { code: 2, stdout: "" }]);
    }
  });

  test("services are deleted by their tags only with --yes, and -o id prints what was created and deleted", async () => {
    const created = [];
    for (const name of ["old-1", "old-2"]) {
      const { stdout, stderr } = await run(`service create ${name} --tag team=old -o id`);
      expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
      expect(stderr).toContain("does not show the password");
      await api.services.setState(stdout.trim(), "stopped", null);
      created.push(stdout);
    }
    expect(await run("service delete -l team=old")).toMatchObject({ code: 2 });
    expect(await run("service delete old-1 -l team=old --yes")).toMatchObject({ code: 2 });
    expect(await run("service delete -l team=old --yes -o id")).toMatchObject({ code: 0, stdout: created.join("") });
    expect((await run("key create spare --role read_only -o id")).stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    expect((await run("service list -o name")).stdout).toBe("web\ndata\n");
  });

  test("a name, --all and --selector exclude one another", async () => {
    for (const line of ["pipe stop", "pipe stop clicks --all", "pipe stop clicks -l a", "pipe stop --all -l a"]) {
      expect(await run(line)).toMatchObject({ code: 2, stdout: "" });
    }
    for (const line of ["service stop", "service stop web -l a"]) expect(await run(line)).toMatchObject({ code: 2 });
  });

  test("several pipes are deleted only with --yes, and the others stay", async () => {
    expect(await run("pipe delete -l team=web")).toMatchObject({ code: 2 });
    const { code, stderr } = await run("pipe delete -l team=web --yes");
    expect(code).toBe(0);
    expect(stderr).toMatch(/^deleted (?:clicks, views|views, clicks); default\.events and events_pipes_error stay\n$/);
    expect((await run("pipe list -o name")).stdout).toContain("orders\n");
  });
});

test("api --paginate follows the cursors to the last page, one response per line", async () => {
  const lines = (await run("api GET /v1/organizations/{o}/activities?limit=2 --paginate")).stdout.trim().split("\n");
  const pages = lines.map((line) => JSON.parse(line).result.activities as { id: string }[]);
  const ids = pages.flat().map(({ id }) => id);
  expect(pages.length).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(ids.length);
  const whole = JSON.parse((await run("api GET /v1/organizations/{o}/activities?limit=100")).stdout).result;
  expect(ids).toEqual(whole.activities.map(({ id }: { id: string }) => id));
  expect(await run("api POST /v1/organizations/{o}/keys --paginate")).toMatchObject({ code: 2 });
  const linked = (await run("api GET /v1/organizations/{o}/services?sort=name&limit=1 --paginate")).stdout.trim();
  const services = linked.split("\n").map((line) => JSON.parse(line).result as { name: string }[]);
  expect(services.map((page) => page.map(({ name }) => name))).toEqual([["data"], ["web"]]);
});

test("status -w repeats until Ctrl-C, for programs only what has changed", async () => {
  const stop = new AbortController();
  const { code, stdout } = await run("status -w -o ndjson", { signal: stop.signal, onOutput: () => stop.abort() });
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toHaveProperty("attention");
  expect(await run("status -w --check")).toMatchObject({ code: 2, stdout: "" });
});

test("the hint of a service that cannot be woken is the command that starts it", async () => {
  const id = await createService("resting");
  await api.services.setDesired(id, "stopped");
  await api.services.setState(id, "stopped", null);
  const { code, stderr } = await run("service wake resting");
  expect({ code, stderr }).toEqual({
    code: 7,
    stderr: expect.stringContaining("\nhint: Start it: millrace service start resting\n"),
  });
  await run("service delete resting --yes");
});

test("the last error of a pipe that is well is shown until somebody restarts it", async () => {
  const id = await createPipe(data, "news");
  const line = async () => {
    await api.vitals.pass();
    return (await run("pipe list")).stdout.split("\n").find((text) => text.startsWith("news "));
  };
  await api.pipes.setState(id, "Degraded", "the source is away", 1);
  await api.pipes.setState(id, "Running", null, 1);
  expect(await line()).toMatch(/Running .* the source is away \(\ds ago\)$/);
  await run("pipe stop news");
  await run("pipe start news");
  await api.pipes.setState(id, "Running", null, 3);
  expect(await line()).toMatch(/Running .* -$/);
  await api.pipes.remove(id);
});

test("who loads objects again is told what stays in the table", async () => {
  const id = await createPipe(data, "again");
  await api.ledger.note(id, { "o:in/a.json": { etag: "v1", result: "loaded" } }, {});
  for (const flag of ["--prefix in/", "--object in/a.json"]) {
    const { code, stderr } = await run(`pipe resync again ${flag} --rows keep --yes`);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^again: \w+; rows of earlier loads stay, also of objects that/),
    ]);
  }
  expect((await run("pipe resync again --rows keep --yes")).stderr).toMatch(/^again: \w+\n$/);
  await api.pipes.remove(id);
});

test("a pipe is created and checked from the body in a file, without a kind", async () => {
  const source = { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json", format: "JSONEachRow" } };
  const destination = { table: "copies", columns: [{ name: "a", type: "UInt8" }] };
  writeFileSync(join(folder, "body.json"), JSON.stringify({ name: "original", source, destination }));
  const at = "-f body.json --service web";
  const dry = await run(`pipe create copy ${at} --dry-run -o json`);
  expect({ ...dry, stdout: JSON.parse(dry.stdout).body }).toMatchObject({
    code: 0,
    stdout: { name: "copy", source, destination },
  });
  expect((await run(`pipe validate ${at}`)).stderr).toMatch(/checks failed/);
  expect(await run("pipe create")).toMatchObject({ code: 2, stderr: expect.stringContaining("name a kind (") });
});

describe("console", () => {
  /** Stands for the desktop: keeps the page that it is asked to open. */
  function desktop(): Record<string, string> {
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    for (const name of ["xdg-open", "open"]) {
      writeFileSync(join(bin, name), `#!/bin/sh\nprintf %s "$1" > "${folder}/opened"\n`);
      chmodSync(join(bin, name), 0o700);
    }
    return { PATH: `${bin}:${process.env.PATH}` };
  }

  test("--path names the page after the login", async () => {
    const { stdout } = await run(["console", "--path", "/pipes/a b&c"]);
    expect(stdout).toMatch(/\/console\/#login=[\w-]+&to=\/pipes\/a%20b%26c\n$/);
    for (const path of ["pipes", "//evil.example", "/\\evil"]) {
      expect(await run(["console", "--path", path])).toMatchObject({ code: 2, stdout: "" });
    }
  });

  test("--open gives the link to the browser, in a file of its user alone", async () => {
    expect(await run("console --open", { env: desktop() })).toMatchObject({ code: 0, stdout: "" });
    const file = fileURLToPath(readFileSync(join(folder, "opened"), "utf8"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toMatch(/location\.replace\("http[^"]*\/console\/#login=[\w-]+"\)/);
    expect((await run("console --open --print", { env: desktop() })).stdout).toContain("#login=");
  });

  test("without a browser the link is printed", async () => {
    const { code, stdout, stderr } = await run("console --open", { env: { PATH: "/nonexistent" } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("#login=") });
    expect(stderr).toContain("no browser can be opened");
  });
});

test("status tells of alerts that fire, and of notifications that nobody got", async () => {
  const { body } = await api.call("POST", "/v1/organizations/{o}/accessTokens", { body: { name: "t" } });
  const env = { MILLRACE_ACCESS_TOKEN: body.result.accessToken };
  writeFileSync(join(folder, "url"), "https://example.com/hook\n");
  expect(await run("webhook create pager --url-file url", { env })).toMatchObject({ code: 0 });
  expect(await run("alert create failing --metric pipe_attention --above 1 --webhook pager", { env })).toMatchObject({
    code: 0,
  });
  const [alert] = await api.alerts.listEnabled();
  const error = {
    timestamp: "2026-01-01T00:00:00.000Z",
    type: "WEBHOOK_ERROR",
    message: "It answers with 500.",
  } as const;
  const window = { windowStart: "2026-01-01T00:00:00.000Z", windowEnd: "2026-01-01T00:01:00.000Z" };
  const finding = {
    ...window,
    state: "ALERT",
    message: null,
    firingWindows: 1,
    readings: [],
    errors: [error],
  } as const;
  await api.alertEvaluations.record(alert as never, finding as never, () => ({}) as never);
  const { attention } = JSON.parse((await run("status -o json", { env })).stdout);
  expect(attention.filter(({ object }: { object: string }) => object === "alert")).toMatchObject([
    { name: "failing", state: "ALERT", about: "state", reason: "The alert fires." },
    { name: "failing", about: "errors", reason: "A notification was not delivered: It answers with 500." },
  ]);
  expect((await run("status --check", { env })).code).toBe(3);
  // All but the alerts is read without the token.
  const { alerts: _, attention: before, ...rest } = JSON.parse((await run("status -o json", { env })).stdout);
  const refused = await run("status --check -o json", { env: { MILLRACE_ACCESS_TOKEN: "mrt_wrong" } });
  expect(refused.code).toBe(3);
  expect(JSON.parse(refused.stdout)).toEqual({
    ...{ ...rest, alerts: null },
    attention: [
      ...before.filter(({ object }: { object: string }) => object !== "alert"),
      expect.objectContaining({ object: "token", reason: expect.stringMatching(/^Alerts cannot be read: \S.*\.$/) }),
    ],
  });
  // Without a token nobody is told that there is no alert.
  expect(JSON.parse((await run("status -o json")).stdout).alerts).toBe(null);
});
