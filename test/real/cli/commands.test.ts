/** The program as a child process against a real server: every exit code, pipes, files, Ctrl-C. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CliStage } from "../../../harness/cli-stage.ts";
import { startStoreProxy } from "../../../harness/objects/store-proxy.ts";
import { mainFile } from "../../../src/lib/program.ts";

let stage: CliStage;
let { served, store, folder, env, run, create } = {} as CliStage;
beforeAll(async () => {
  stage = await CliStage.open();
  ({ served, store, folder, env, run, create } = stage);
});
afterAll(async () => await stage?.[Symbol.asyncDispose]());

describe("a service and a pipe", () => {
  test("0: create --wait ends when the service runs, and the password goes to a file", async () => {
    const file = join(folder, "password");
    const created = await run([
      "service",
      "create",
      "analytics",
      "--wait",
      "--timeout",
      "60s",
      "--password-file",
      file,
    ]);
    expect(created).toMatchObject({ code: 0 });
    expect(created.stdout).not.toContain("password");
    expect(JSON.parse((await run("service get analytics -o json")).stdout).state).toBe("running");
  });

  test("0: a pipe is created from flags, and --wait ends when rows arrive", async () => {
    const { code, stdout } = await run(create("clicks", "in/*.json", "--wait", "--timeout", "60s", "-o", "json"));
    expect(code).toBe(0);
    expect(JSON.parse(stdout).progress.sentRows).toBe(2);
  });

  test("1: validate says every check in its order, and creates nothing", async () => {
    const { code, stdout, stderr } = await run(
      "pipe validate kafka --brokers 127.0.0.1:1 --topics x --to t --column a:Strin --order-by a -o json",
    );
    expect(code).toBe(1);
    const failed = (JSON.parse(stdout) as { name: string; ok: boolean }[]).filter(({ ok }) => !ok);
    expect(failed.map(({ name }) => name)).toEqual(["tableDefinition", "connection"]);
    expect(stderr).toContain("2 of 7 checks failed");
    expect((await run("pipe list -o name")).stdout).not.toContain("validated");
  });

  test("a secret is masked in a dry run, and refused in a flag", async () => {
    const dry = await run(create("dry", "in/*.json", "--dry-run"));
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.stdout).toContain('secretKey: "***"');
    expect(dry.stdout).toMatch(
      /^method: POST\npath: \/v1\/organizations\/[^/]+\/services\/[^/]+\/pipes\nbody:\n {2}\w/,
    );
    const set = await run(create("dry", "in/*.json", "--set", "accessKey.secretKey=abc"));
    expect(set).toMatchObject({ code: 2, stdout: "" });
    expect(set.stderr).toContain("other users see the flags of a command");
  });

  test("3: --wait of a pipe that fails says why", async () => {
    await store.put("bad/1.json", "this is not JSON\n");
    const { code, stderr } = await run(create("bad", "bad/*.json", "--wait", "--timeout", "60s"));
    expect(stderr).toMatch(/millrace: FAILED_STATE: pipe bad is Failed: /);
    expect(code).toBe(3);
  });

  test("124: --timeout, while the pipe goes on", async () => {
    const { code, stderr } = await run(create("none", "nothing/*.json", "--follow", "--wait", "--timeout", "1s"));
    expect(stderr).toContain("not done within 1s; pipe none goes on at the server");
    expect(code).toBe(124);
  });

  test("130: Ctrl-C leaves at once and says what goes on", async () => {
    const waiting = await run(create("late", "nothing/*.json", "--follow", "--wait"), {
      during: (child) => {
        child.stderr?.on("data", (text) => String(text).includes("late:") && child.kill("SIGINT"));
      },
    });
    expect(waiting.code).toBe(130);
    expect(waiting.stderr).toContain("interrupted; pipe late goes on at the server");
  });

  test("1, 2, 4, 5 and 7: failures, usage, credentials, absence, conflicts", async () => {
    expect((await run("service list", { env: { MILLRACE_URL: "http://127.0.0.1:1" } })).code).toBe(1);
    expect((await run("frobnicate")).stderr).toContain("unknown command 'frobnicate'");
    expect((await run("frobnicate")).code).toBe(2);
    expect((await run("pipe get l -o json")).code).toBe(0);
    expect((await run("service list", { env: { MILLRACE_KEY: "a:b" } })).code).toBe(4);
    expect((await run("pipe get nothing")).code).toBe(5);
    expect((await run("service delete analytics --yes")).code).toBe(7);
  });

  test("a piped table is plain, whatever the terminal, and head may leave early", () => {
    const command = (more: string) => `"${process.execPath}" "${mainFile}" pipe list ${more}`;
    const shell = (text: string, more: object = {}) =>
      execFileSync("bash", ["-c", `set -o pipefail; ${text}`], { env: { PATH: process.env.PATH, ...env, ...more } });
    for (const more of [{}, { NO_COLOR: "1" }, { TERM: "dumb" }]) {
      const text = String(shell(`${command("")} | cat`, more));
      expect(text).not.toContain("\u001b");
      expect(text).toContain("clicks");
    }
    expect(JSON.parse(String(shell(`${command("-o json")} | cat`)))).toHaveLength(4);
    expect(String(shell(`${command("-o name")} | head -1`))).toMatch(/\w+\n/);
  });
});

describe("statements", () => {
  test("several of them, parameters, formats, and stdin", async () => {
    const two = await run(["sql", "analytics", "SELECT {x:Int64} AS a; SELECT ';' AS b", "--param", "x=7"]);
    expect(two).toMatchObject({ code: 0, stdout: "a\n7\nb\n;\n" });
    const isNull = await run(["sql", "SELECT {x:Nullable(String)} IS NULL AS y", "--param", "x=\\N"]);
    expect(isNull).toMatchObject({ code: 0, stdout: "y\n1\n" });
    const piped = await run(["sql", "analytics", "--format", "CSV"], { stdin: "SELECT 'a', 1" });
    expect(piped).toMatchObject({ code: 0, stdout: '"a",1\n' });
    expect(JSON.parse((await run(["sql", "SELECT toUInt64(-1) AS n", "-o", "ndjson"])).stdout)).toBeDefined();
    expect((await run(["sql", "SELECT 1", "-o", "yaml"])).code).toBe(2);
  });

  test("1: a statement that fails, and a result that is broken off", async () => {
    const wrong = await run(["sql", "SELEC 1"]);
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr.length).toBeLessThan(1_000);
    const broken = await run(["sql", "SELECT throwIf(number = 5000000) FROM numbers(10000000)"]);
    expect(broken.code).toBe(1);
    expect(broken.stdout.length).toBeGreaterThan(1_000);
    expect(broken.stderr).toContain("the result is incomplete: Code: 395.");
    const late = "SELECT throwIf(number = 500000), '\"' AS text FROM numbers(1000000) SETTINGS max_block_size = 10000";
    for (const format of ["JSON", "JSONEachRow", "JSONCompactEachRow", "XML"]) {
      const { code, stderr } = await run(["sql", late, "--format", format]);
      expect({ format, code }).toEqual({ format, code: 1 });
      expect(stderr).toContain("the result is incomplete: Code: 395.");
    }
  });

  test("--read-only makes any key one that cannot write", async () => {
    const { code, stderr } = await run(["sql", "analytics", "CREATE TABLE no (a Int8) ENGINE Memory", "--read-only"]);
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining("millrace: FORBIDDEN: ") });
  });

  test("--max-rows ends a result", async () => {
    const few = await run(["sql", "SELECT number FROM numbers(10000000)", "--max-rows", "10", "-o", "ndjson"]);
    expect(few.code).toBe(0);
    expect(few.stdout.split("\n").length).toBeLessThan(200_000);
  });

  test("124: --timeout ends a statement, before its result and within it", async () => {
    const silent = await run(["sql", "SELECT count() FROM numbers(1e13)", "--timeout", "1s"]);
    expect(silent).toMatchObject({ code: 124, stdout: "", stderr: expect.stringContaining("Timeout exceeded") });
    const begun = "SELECT repeat('x', 100000), sleepEachRow(0.01) FROM numbers(2000) SETTINGS max_block_size = 20";
    const broken = await run(["sql", begun, "--timeout", "1s", "-o", "ndjson"]);
    expect(broken).toMatchObject({ code: 124, stderr: expect.stringContaining("the result is incomplete") });
  });
});

describe("refused rows", () => {
  test("are shown by cause and one by one", async () => {
    const groups = JSON.parse((await run("pipe errors bad -o json")).stdout);
    expect(groups).toHaveLength(1);
    expect(groups[0].rows).toBe(1);
    const rows = JSON.parse((await run("pipe errors bad --rows -o json")).stdout);
    expect(rows[0].raw).toContain("this is not JSON");
    expect((await run("pipe errors bad --replay")).code).toBe(2);
    const discarded = await run("pipe errors bad --discard --all --yes --wait --timeout 60s -o json");
    expect(JSON.parse(discarded.stdout)).toMatchObject({ kind: "discard", state: "done", selectedRows: 1 });
  });
});

describe("files", () => {
  const file = () => join(folder, "all.yaml");

  test("what export writes is what apply finds: no changes, also twice", async () => {
    const { code, stdout } = await run("export --all");
    expect(code).toBe(0);
    expect(stdout).toContain(`accessKey:\n        accessKeyId: \${env:CLICKS_ACCESS_KEY_ID}`);
    expect(stdout).not.toContain(store.accessKey.secretKey);
    writeFileSync(file(), stdout);
    expect(await run(["apply", "-f", "-", "--yes"], { stdin: stdout })).toMatchObject({
      code: 0,
      stdout: "no changes\n",
    });
    expect(await run(["diff", "-f", file(), "--exit-code"])).toMatchObject({ code: 0, stdout: "no changes\n" });
  });

  test("--update-secrets of what export writes sends the secrets of pipes, and touches nothing else", async () => {
    const apply = ["apply", "-f", file(), "--yes", "--update-secrets"];
    const nothing = await run(apply);
    expect(nothing).toMatchObject({ code: 2, stdout: "no changes\n" });
    expect(nothing.stderr).toContain("the environment has no BAD_ACCESS_KEY_ID");
    expect(nothing.stderr).not.toContain("changed");
    const { accessKeyId, secretKey } = store.accessKey;
    const variables = readFileSync(file(), "utf8").matchAll(/env:(\w+)/g);
    const secrets = Object.fromEntries(
      Array.from(variables, ([, name = ""]) => [name, name.endsWith("_ID") ? accessKeyId : secretKey]),
    );
    const versions = async () => JSON.parse((await run("service list -o json")).stdout)[0].version;
    const before = await versions();
    const { code, stderr } = await run(apply, { env: secrets });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    const changed = stderr.trim().split("\n");
    expect(changed).toHaveLength(Object.keys(secrets).length / 2);
    expect(changed.every((line) => line.startsWith("changed Pipe analytics/"))).toBe(true);
    expect(await versions()).toBe(before);
    expect(await run(["diff", "-f", file(), "--exit-code"])).toMatchObject({ code: 0 });
  });

  const pipe = (table: string, more = "") => `kind: Pipe
name: from-file
service: analytics
spec:
  source:
    objectStorage:
      url: ${store.endpoint}/${store.bucket}/in/*.json
      format: JSONEachRow
      authentication: IAM_USER
      accessKey: { accessKeyId: "\${env:CLICKS_ACCESS_KEY_ID}", secretKey: "\${env:CLICKS_SECRET_KEY}" }
  destination:
    table: ${table}
    columns: [{ name: user, type: String }, { name: n, type: Int64 }]
${more}`;

  test("6: differences; apply makes them, then there are none", async () => {
    writeFileSync(file(), pipe("from_file"));
    const diff = await run(["diff", "-f", file(), "--exit-code"]);
    expect(diff).toMatchObject({
      code: 6,
      stdout: "+ Pipe analytics/from-file\n1 to create, 0 to change, 0 to delete\n",
    });
    expect((await run(["apply", "-f", file()])).code).toBe(2);
    expect(await run(["apply", "-f", file(), "--yes", "--wait", "--timeout", "60s"])).toMatchObject({ code: 0 });
    expect(await run(["diff", "-f", file(), "--exit-code"])).toMatchObject({ code: 0 });
  });

  test("a change is named field by field, and made", async () => {
    writeFileSync(file(), pipe("from_file", "  settings: { object_storage_concurrency: 3 }\n"));
    const diff = await run(["diff", "-f", file()]);
    expect(diff.stdout).toContain("~ Pipe analytics/from-file\n    + settings.object_storage_concurrency: 3\n");
    expect(diff.stdout).toContain("source.objectStorage.accessKey: not compared (secret)");
    expect((await run(["apply", "-f", file(), "--yes"])).code).toBe(0);
    expect(await run(["diff", "-f", file(), "--exit-code"])).toMatchObject({ code: 0 });
  });

  test("a replacement is never silent: nothing is changed", async () => {
    writeFileSync(file(), pipe("another"));
    const { code, stdout, stderr } = await run(["apply", "-f", file(), "--yes"]);
    expect(code).toBe(1);
    expect(stdout).toContain("! Pipe analytics/from-file needs replacement");
    expect(stdout).toContain('~ destination.table: "from_file" -> "another" (cannot change)');
    expect(stderr).toContain("all.yaml:12: Pipe analytics/from-file: destination.table cannot change");
    expect((await run(["diff", "-f", file()])).stderr).toContain("all.yaml:12: Pipe analytics/from-file: ");
  });

  test("2: mistakes name file and line", async () => {
    const at = async (text: string) => {
      writeFileSync(file(), text);
      return await run(["diff", "-f", file()]);
    };
    expect((await at("kind: Pipee\nname: a\n")).stderr).toContain(
      "all.yaml:1: Pipee is not a known kind; did you mean Pipe?",
    );
    expect((await at("kind: Pipe\nname: a\nservice: [\n")).stderr).toMatch(/all\.yaml:\d: /);
    const lost = await at(pipe("from_file").replace("table: from_file", "table: $" + "{env:NOT_THERE}"));
    expect(lost).toMatchObject({ code: 2 });
    expect(lost.stderr).toContain("all.yaml:12: the environment has no NOT_THERE");
  });

  test("an error of the server names the line of its member", async () => {
    writeFileSync(file(), pipe("x").replace("from-file", "other").replace("format: JSONEachRow", "format: Jason"));
    const { code, stderr } = await run(["apply", "-f", file(), "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("all.yaml:8: source.objectStorage.format: ");
  });

  /** Runs two applies that have both read the server before one of them creates its pipe. */
  const twoApplies = async (texts: readonly [string, string]) => {
    await using front = await startStoreProxy(served.credentials.baseUrl);
    const both = Promise.withResolvers<void>();
    let creating = 0;
    front.pauseBefore = ({ method, url }) => {
      if (method !== "POST" || url?.endsWith("/pipes") !== true) return 0;
      creating += 1;
      if (creating === 2) both.resolve();
      return both.promise;
    };
    const options = { env: { MILLRACE_URL: front.endpoint } };
    return await Promise.all(texts.map((stdin) => run(["apply", "-f", "-", "--yes"], { ...options, stdin })));
  };
  const named = async (name: string) =>
    (await run("pipe list -o name")).stdout.split("\n").filter((one) => one === name);

  test.each([
    ["that one pipe alone may load", "twice", ""],
    ["that several may load", "shared", "    managedTable: false\n"],
  ])("two applies at once make one pipe into a table %s", async (_, name, more) => {
    if (more !== "") {
      const columns = "CREATE TABLE shared (user String, n Int64) ENGINE MergeTree ORDER BY n";
      expect(await run(["sql", "analytics", columns])).toMatchObject({ code: 0 });
    }
    const text = pipe(name, more).replace("from-file", name);
    const results = await twoApplies([text, text]);
    expect(results).toMatchObject([{ code: 0 }, { code: 0 }]);
    const said = results.map(({ stderr }) => stderr).join("");
    expect(said).toContain(`created Pipe analytics/${name}\n`);
    expect(said).toContain(`Pipe analytics/${name} was created by someone else at the same time\n`);
    expect(await named(name)).toHaveLength(1);
  });

  test("7: two different applies at once make one pipe, and the other is told to apply again", async () => {
    // Members that a file does not name are not compared, so both name the one that is different.
    const [first, second] = [2, 3].map((n) =>
      pipe("differs", `  settings: { object_storage_concurrency: ${n} }\n`),
    ) as [string, string];
    const results = await twoApplies([first.replace("from-file", "differs"), second.replace("from-file", "differs")]);
    const [made, refused] = results.toSorted((a, b) => a.code - b.code);
    expect({ made, refused }).toMatchObject({ made: { code: 0 }, refused: { code: 7 } });
    expect(refused?.stderr).toContain("CONFLICT: ");
    expect(refused?.stderr).toContain("someone else created it at the same time, and it is different");
    expect(await named("differs")).toHaveLength(1);
  });

  test("a new service gets the schedule of its file", async () => {
    const service = "kind: Service\nname: second\nspec: { minReplicaMemoryGb: 1, maxReplicaMemoryGb: 1 }\n";
    const schedule = "kind: BackupSchedule\nservice: second\nspec: { backupPeriodInHours: 12 }\n";
    writeFileSync(file(), `${service}---\n${schedule}`);
    const secrets = ["--set", "second", "--secrets-file", join(folder, "second")];
    const applied = await run(["apply", "-f", file(), "--yes", ...secrets]);
    expect(applied).toMatchObject({ code: 0 });
    expect(await run(["diff", "-f", file(), "--exit-code"])).toMatchObject({ code: 0, stdout: "no changes\n" });
  });

  test("--prune deletes only what apply made", async () => {
    writeFileSync(file(), pipe("from_file", "  settings: { object_storage_concurrency: 3 }\n"));
    const plan = await run(["apply", "-f", file(), "--yes", "--prune"]);
    expect(plan).toMatchObject({ code: 0 });
    expect(plan.stdout).toContain("- Pipe analytics/twice\n");
    const names = (await run("pipe list -o name")).stdout;
    expect(names).not.toContain("twice");
    expect(names).toContain("clicks\n");
  });
});
