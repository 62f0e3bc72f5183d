/** Commands against the real API: formats, names, exit codes and errors. */
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { CommandOptions } from "../../harness/cli.ts";
import { limits } from "../../harness/limits.ts";
import { startCommandLine } from "./command-line.ts";

const strange = 'a "b" ü\u001b[31m';
const commands = await startCommandLine();
const { api, url, folder, run, createService, createPipe } = commands;
const serviceId = await createService("analytics");
const pipeIds: string[] = [];
for (const name of ["clicks", "clicks-old", "größe"]) pipeIds.push(await createPipe(serviceId, name));
await api.pipes.setState(pipeIds[1] as string, "Failed", `cannot read ${strange}`, 1);
afterAll(async () => await commands[Symbol.asyncDispose]());

describe("output", () => {
  test("a piped table has no colour and nothing is cut; a terminal's has both", async () => {
    const piped = await run("pipe list");
    expect(piped.stdout).not.toContain("\u001b");
    expect(piped.stdout).toContain('cannot read a "b" ü\\x1b[31m');
    const shown = await run("pipe list", { terminal: 80 });
    expect(shown.stdout).toContain("\u001b[31mFailed\u001b[39m");
    expect(shown.stdout).toContain("…");
  });

  test("on a terminal no format carries control characters of the server", async () => {
    const hostile = "\u001b]0;owned\u0007\u009b2J\u202e\r";
    const made = { kind: "query", name: "hostile", content: { query: hostile } };
    const { body } = await api.call("POST", "/v1/organizations/{o}/savedObjects", { body: made });
    await api.pipes.setState(pipeIds[2] as string, "Failed", `cannot read ${hostile}`, 1);
    const path = `/v1/organizations/{o}/savedObjects/${body.result.id}`;
    const lines = ["table", "wide", "json", "yaml", "ndjson", "csv"].map((format) => `pipe list -o ${format}`);
    for (const line of [...lines, `api GET ${path}`, `api GET ${path} --paginate`]) {
      const { code, stdout } = await run(line, { terminal: 300 });
      expect([line, code]).toEqual([line, 0]);
      // Colours of the command itself.
      const foreign = stdout.replaceAll(/\u001b\[\d+m/g, "");
      expect(foreign, line).toMatch(/owned/);
      expect(foreign, line).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    const piped = await run(`api GET ${path}`);
    expect(JSON.parse(piped.stdout).result.content.query).toBe(hostile);
    await api.call("DELETE", path);
    await api.pipes.setState(pipeIds[2] as string, "Provisioning", null, 1);
  });

  test("columns are aligned", async () => {
    const lines = (await run("pipe list")).stdout.split("\n");
    const at = lines[0]?.indexOf("STATE") ?? -1;
    expect(lines.slice(1, 4).map((line) => line.slice(at - 1, at + 1))).toEqual([" P", " F", " P"]);
  });

  test("a pipe that makes several tables has all of its database in the list", async () => {
    const owner = { serviceId, name: "telemetry", sourceKind: "push", roles: [], fieldMappings: [] };
    const source = { push: { format: "otlp" } };
    const id = await api.pipes.create(
      { ...owner, source, secrets: {}, destination: {}, scaling: {}, settings: {} },
      limits.pipes,
    );
    expect((await run("pipe list")).stdout).toMatch(/telemetry +analytics +push +default\.\* /);
    expect((await run("pipe get telemetry")).stdout).toMatch(/table +default\.\*\n/);
    await api.pipes.remove(id);
  });

  test.each([{ NO_COLOR: "1" }, { TERM: "dumb" }])("%o switches colour off", async (env) => {
    expect((await run("pipe list", { terminal: 200, env })).stdout).not.toContain("\u001b");
  });

  test("FORCE_COLOR switches it on in a pipe, --no-color off", async () => {
    expect((await run("pipe list", { env: { FORCE_COLOR: "1" } })).stdout).toContain("\u001b[31m");
    expect((await run("pipe list --no-color", { terminal: 200 })).stdout).not.toContain("\u001b");
  });

  test("-o json is exactly the result of the API", async () => {
    const { body } = await api.call("GET", "/v1/organizations/{o}/services");
    expect(JSON.parse((await run("service list -o json")).stdout)).toEqual(body.result);
    expect(JSON.parse((await run("service list --json")).stdout)).toEqual(body.result);
  });

  test("yaml, ndjson, name and id", async () => {
    expect((await run("service list -o yaml")).stdout).toMatch(/^- id: /);
    expect(
      (await run("pipe list -o ndjson")).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).name),
    ).toEqual(["clicks", "clicks-old", "größe"]);
    expect((await run("pipe list -o name")).stdout).toBe("clicks\nclicks-old\ngröße\n");
    expect((await run("pipe list -o id")).stdout).toBe(`${pipeIds.join("\n")}\n`);
  });

  test("csv has a header, a line per object, and quotes what needs it", async () => {
    const [header, first, ...others] = (await run("service list -o csv")).stdout.trim().split("\n");
    expect(header).toMatch(/^id,name,/);
    expect(first).toContain(",analytics,");
    expect(first).toContain('""source""');
    expect(others).toEqual([]);
  });

  test("an unknown format is a usage error", async () => {
    expect(await run("pipe list -o xml")).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("names", () => {
  test.each(["größe", "gr", "analytics/gr", "anal/größe"])("%s names the pipe", async (reference) => {
    expect((await run(["pipe", "get", reference, "-o", "id"])).stdout).toBe(`${pipeIds[2]}\n`);
  });

  test("an exact name wins over a prefix, and an id over both", async () => {
    expect((await run("pipe get clicks -o id")).stdout).toBe(`${pipeIds[0]}\n`);
    expect((await run(["pipe", "get", pipeIds[1] as string, "-o", "name"])).stdout).toBe("clicks-old\n");
  });

  test("an ambiguous prefix is exit code 2 and names the candidates", async () => {
    const { code, stdout, stderr } = await run("pipe get click");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`${pipeIds[0]}: clicks\n`);
    expect(stderr).toContain(`${pipeIds[1]}: clicks-old\n`);
  });

  test("an unknown name is exit code 5 with a suggestion", async () => {
    const { code, stderr } = await run("pipe get clocks");
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: "millrace: NOT_FOUND: there is no pipe clocks\nhint: Did you mean clicks?\n",
    });
  });
});

describe("errors", () => {
  test("an unknown command is one, with a suggestion", async () => {
    expect(await run("frobnicate")).toEqual({
      code: 2,
      stdout: "",
      stderr: "millrace: unknown command 'frobnicate'\nhint: millrace --help lists the commands.\n",
    });
    expect((await run("servce list")).stderr).toContain("Did you mean millrace service?");
    expect((await run("pipe lst")).stderr).toContain("Did you mean millrace pipe list?");
    expect(await run("pipe list --nope")).toMatchObject({ code: 2, stdout: "" });
  });

  test("an error of the API names the field, the reason, the remedy and the request", async () => {
    const { code, stdout, stderr } = await run(["service", "update", "analytics", "--idle", "1m"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^millrace: BAD_REQUEST: .*\n {2}idleTimeoutMinutes: .*5.*\nhint: .*\nrequest: [0-9a-f-]{36}\n$/,
    );
  });

  test("with -o json the error is one line of JSON on stderr", async () => {
    const { stdout, stderr } = await run("pipe get nope -o json");
    expect(stdout).toBe("");
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "NOT_FOUND", message: "there is no pipe nope", issues: [], retryable: false },
    });
  });

  test("wrong credentials are exit code 4, a conflict is 7", async () => {
    expect(await run("service list", { env: { MILLRACE_KEY: "a:b" } })).toMatchObject({ code: 4, stdout: "" });
    expect(await run("service delete analytics --yes")).toMatchObject({ code: 7, stdout: "" });
  });

  test("without a server or credentials one sentence says what to run", async () => {
    const none = await run("pipe list", { env: { MILLRACE_URL: undefined, MILLRACE_KEY: undefined } });
    expect(none.code).toBe(4);
    expect(none.stderr).toContain("run `millrace serve` here, or `millrace login");
    const off = await run("pipe list", { env: { MILLRACE_URL: "http://127.0.0.1:1" } });
    expect(off.code).toBe(1);
    expect(off.stderr).toContain("no server answers at http://127.0.0.1:1");
  });

  test("what deletes does not ask without a terminal, and does nothing without --yes", async () => {
    const { code, stderr } = await run("pipe delete größe");
    expect(code).toBe(2);
    expect(stderr).toContain("Add --yes.");
    expect((await run("pipe get größe")).code).toBe(0);
  });
});

test("flags of pipe update add tables to a Postgres pipe and remove them", async () => {
  const tableMappings = [{ sourceSchemaName: "public", sourceTable: "orders", targetTable: "orders" }];
  const owner = { serviceId, name: "shop", sourceKind: "relationalDb", roles: [], fieldMappings: [] };
  const source = { relationalDb: { host: "127.0.0.1", port: 1, database: "d", tableMappings } };
  const rest = { secrets: { credentials: { username: "u" } }, destination: {}, scaling: {}, settings: {} };
  const id = await api.pipes.create({ ...owner, source, ...rest }, limits.pipes);
  const unknown = await run("pipe update shop --remove-table public.items");
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("tableMappingsToRemove.0: public.items")]);
  const taken = await run("pipe update shop --add-table public.items=orders");
  expect(taken.stderr).toContain("tableMappingsToAdd.0.targetTable: orders is the table of public.orders already");
  expect((await run("pipe update shop --add-table items")).stderr).toContain("--add-table items: must be schema.table");
  // The same mapping again: the table begins anew.
  const again = "pipe update shop --remove-table public.orders --add-table public.orders";
  expect((await run(again)).stderr).toBe("changed shop\n");
  expect((await api.pipes.find(id))?.resyncTables).toEqual(["orders"]);
  await api.pipes.remove(id);
});

describe("waiting", () => {
  test("a failed pipe is exit code 3 with the reason", async () => {
    const id = await createPipe(serviceId, "doomed");
    await api.pipes.setState(id, "Stopped", null, 1);
    const started = run("pipe start doomed --wait --timeout 5s");
    await vi.waitFor(async () => expect((await api.pipes.find(id))?.generation).toBe(2), 60_000);
    await api.pipes.setState(id, "Failed", "broken source", 2);
    const { code, stderr } = await started;
    expect(stderr).toContain("pipe doomed is Failed: broken source");
    expect(code).toBe(3);
    await api.pipes.remove(id);
  });

  test("the time that is left is told while it is awaited, and not of what has failed", async () => {
    const id = await createPipe(serviceId, "copied");
    const counts = { sentRows: 5, snapshotRowsEstimated: 100 };
    await api.ledger.confirm(id, { batchId: "b", lane: "l", marks: {}, counts });
    await api.pipes.setState(id, "Stopped", null, 1);
    const failed: Promise<void>[] = [];
    const onError = (text: string) => {
      if (/5 of 100, .* left/.test(text)) failed.push(api.pipes.setState(id, "Failed", "broken source", 2));
    };
    const { stderr } = await run("pipe start copied --wait --timeout 60s", { terminal: 200, onError });
    await Promise.all(failed);
    expect(stderr).toMatch(/Failed, 5 of 100, \S+\/s rows \d+s\n.*is Failed: broken source/);
    await api.pipes.remove(id);
  });

  // Nothing starts a pipe here.
  beforeEach(async () => await api.pipes.setState(pipeIds[0] as string, "Stopped", null, 1));

  test("--timeout is exit code 124, and says that the server goes on", async () => {
    const { code, stderr } = await run("pipe start clicks --wait --timeout 300ms");
    expect(code).toBe(124);
    expect(stderr).toContain("pipe clicks: not done within 300ms; pipe clicks goes on at the server");
  });

  test("--timeout tells why it is not done", async () => {
    const id = await createService("worn");
    await api.services.setState(id, "degraded", "the engine died");
    const { stderr } = await run("service start worn --wait --timeout 100ms");
    expect(stderr).toContain("service worn: not done within 100ms (the engine died); service worn goes on");
    await api.services.remove(id);
  });

  test("Ctrl-C is exit code 130, and says the same", async () => {
    const stop = new AbortController();
    const onError = (text: string) => void (text.includes("clicks") && stop.abort());
    const { code, stderr } = await run("pipe start clicks --wait", { signal: stop.signal, onError });
    expect(code).toBe(130);
    expect(stderr).toContain("interrupted; pipe clicks goes on at the server");
  });

  test("--timeout needs --wait", async () => {
    expect((await run("pipe start clicks --timeout 5s")).code).toBe(2);
  });
});

describe("credentials", () => {
  const without = { MILLRACE_URL: undefined, MILLRACE_KEY: undefined };

  test("a key file, a context and the data folder, in this order", async () => {
    const key = join(folder, "key");
    writeFileSync(key, `${api.keyId}:${api.keySecret}\n`);
    const origin = async (args: readonly string[], env: CommandOptions["env"] = without) =>
      JSON.parse((await run(["whoami", "-o", "json", ...args], { env })).stdout).origin as string;
    const flags = ["--url", url, "--key-file", key];
    expect(await origin(flags)).toBe(`--key-file ${key}`);
    expect((await run(["login", "here", ...flags], { env: without })).code).toBe(0);
    expect(await origin([])).toMatch(/^context here of /);
    expect(await origin([], {})).toBe("MILLRACE_KEY");
    expect(statSync(join(folder, ".config/millrace/contexts.json")).mode & 0o777).toBe(0o600);
    expect((await run("context list")).stdout).toContain("*  here");
    expect((await run("pipe list --context nope", { env: without })).code).toBe(5);
    expect((await run("logout here")).code).toBe(0);
    expect((await run("pipe list", { env: without })).code).toBe(4);
  });

  test("the secret of a new key goes to a file of its owner alone", async () => {
    const file = join(folder, "new-key");
    const { code, stdout } = await run(["key", "create", "ci", "--role", "read_only", "--secret-file", file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const env = { MILLRACE_URL: url, MILLRACE_KEY: undefined };
    expect((await run(["pipe", "list", "--key-file", file], { env })).code).toBe(0);
    expect((await run(["service", "update", "analytics", "--name", "x", "--key-file", file], { env })).code).toBe(4);
  });
});

describe("completion", () => {
  const complete = async (...words: string[]) => (await run(["complete", "--", ...words])).stdout;

  test("of commands, verbs, flags and values", async () => {
    expect(await complete("serv")).toMatch(/^service\t.*\nserve\t.*\n:4\n$/);
    expect(await complete("pipe", "st")).toMatch(/^start\t.*\nstop\t.*\n:4\n$/);
    expect(await complete("pipe", "list", "--sta")).toMatch(/^--state\t.*\n:4\n$/);
    expect(await complete("pipe", "list", "-o", "j")).toBe("json\t\n:4\n");
  });

  test("of names of live objects with their state; a name with other characters is offered as its id", async () => {
    expect(await complete("pipe", "get", "clicks-")).toBe("clicks-old\tFailed in analytics\n:4\n");
    expect(await complete("pipe", "get", pipeIds[2] as string)).toContain("größe: ");
    expect(await complete("pipe", "list", "--service", "an")).toBe("analytics\trunning\n:4\n");
  });

  test("without a server there are no names and no error", async () => {
    const env = { MILLRACE_URL: "http://127.0.0.1:1" };
    expect(await run(["complete", "--", "pipe", "get", ""], { env })).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
  });

  test.each(["bash", "zsh", "fish", "powershell"])("the script of %s calls the program", async (shell) => {
    expect((await run(["completion", shell])).stdout).toContain("millrace");
  });
});

test("status names what needs attention, and --check tells by the exit code", async () => {
  const { code, stdout } = await run("status --check -o json");
  expect(code).toBe(3);
  expect(JSON.parse(stdout).attention).toMatchObject([{ object: "pipe", name: "clicks-old", state: "Failed" }]);
});

test("api sends any request", async () => {
  const { stdout } = await run(["api", "GET", "/v1/organizations/{o}"]);
  expect(JSON.parse(stdout).result.id).toBe(api.organizationId);
});

describe("events and top", () => {
  test("a request leaves an event with its actor", async () => {
    expect((await run(["service", "update", "analytics", "--tag", "team=web"])).code).toBe(0);
    const { stdout } = await run("events --service analytics --since 1h -o ndjson");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toContainEqual(expect.objectContaining({ type: "service_update", actorDetails: "admin", fields: ["tags.add"] }));
    expect((await run("events --since yesterday")).code).toBe(2);
    const ofPipe = await run("pipe events clicks-old -o ndjson");
    expect(ofPipe).toMatchObject({ code: 0, stdout: (await run("events --pipe clicks-old -o ndjson")).stdout });
    expect(await run("pipe events nothing")).toMatchObject({ code: 5 });
  });

  test("top --once is a table, and one JSON object for programs", async () => {
    expect((await run("top --once")).stdout).toMatch(/^3 pipes {2}0 rows\/s[\s\S]*analytics\/clicks[\s\S]*SERVICE/);
    const view = JSON.parse((await run("top --once -o ndjson")).stdout);
    expect([view.pipes.length, view.services.length]).toEqual([3, 1]);
    expect((await run("top")).code).toBe(2);
  });
});

test("services of one name are warned of, and told apart by their ids", async () => {
  await using others = await startCommandLine();
  const first = await others.createService("twin");
  const { code, stderr } = await others.run("service create twin");
  expect(code).toBe(0);
  expect(stderr).toContain(`warning: another service is named twin, too (${first})`);
  const ambiguous = await others.run(["sql", "SELECT 1"]);
  expect(ambiguous.stderr).toContain(`twin (${first})`);
});

test("doctor names what fails with a remedy, and its bundle has no secret", async () => {
  const file = join(folder, "bundle.json");
  const { code, stdout, stderr } = await run(["doctor", "--bundle", file]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/: [1-9]\d* of \d+ checks failed/)]);
  expect(stdout).toMatch(/fail {2}pipe clicks-old .*millrace pipe get clicks-old/);
  const bundle = readFileSync(file, "utf8");
  expect(JSON.parse(bundle).me.key.role).toBe("admin");
  expect(bundle).not.toContain(api.keySecret);
});

describe("a server that accepts connections and says nothing", () => {
  const silent = createServer(() => {});
  beforeAll(async () => void (await once(silent.listen(0, "127.0.0.1"), "listening")));
  afterAll(() => void silent.close());

  test.concurrent.each(["service list", "doctor", "sql analytics SELECT", "service create x"])(
    "ends `%s` with a sentence",
    async (line) => {
      const hung = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const { code, stdout, stderr } = await run(line, { env: { MILLRACE_URL: hung } });
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(stdout + stderr).toContain(`${hung} accepts connections and does not answer`);
    },
  );

  test("a request that takes long at a server that answers is waited for", async () => {
    const slow = createHttpServer((request, response) => {
      if (request.url === "/health") return void response.end("{}");
      setTimeout(() => response.end('{"result":[]}'), 7_000);
    });
    await once(slow.listen(0, "127.0.0.1"), "listening");
    const env = { MILLRACE_URL: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` };
    expect(await run("service list", { env })).toMatchObject({ code: 0 });
    slow.close();
  });
});
