/** Completion in the shells themselves: each loads its script and completes the name of a pipe of a running server. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../../harness/limits.ts";
import { until } from "../../../harness/serve.ts";
import { mainFile } from "../../../src/lib/program.ts";
import { type Api, startApi } from "../../api/harness.ts";

let api: Api;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  api = await startApi();
  const url = await api.server.listen({ host: "127.0.0.1", port: 0 });
  folder = mkdtempSync(join(tmpdir(), "millrace-completion-"));
  const { body } = await api.call("POST", "/v1/organizations/{o}/services", { body: { name: "analytics" } });
  const serviceId = body.result.service.id as string;
  await createPipe(serviceId, "clicks-new");
  await api.pipes.setState(await createPipe(serviceId, "clicks-old"), "Failed", "broken", 1);
  // Completes as the program does; any other command leaves its arguments in a file.
  const program = join(folder, "millrace");
  writeFileSync(
    program,
    `#!/bin/sh
case "$1" in
  complete|completion) exec "${process.execPath}" "${mainFile}" "$@" ;;
  *) printf '%s\\n' "$@" > "${folder}/ran" ;;
esac
`,
  );
  chmodSync(program, 0o700);
  const key = `${api.keyId}:${api.keySecret}`;
  env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, MILLRACE_URL: url, MILLRACE_KEY: key, TERM: "xterm" };
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function createPipe(serviceId: string, name: string): Promise<string> {
  const owner = { serviceId, name, sourceKind: "objectStorage", roles: [], fieldMappings: [] };
  const source = { objectStorage: { url: "http://127.0.0.1:1/bucket/*.json" } };
  const destination = { table: "events", columns: [{ name: "a", type: "UInt8" }] };
  const rest = { secrets: {}, scaling: {}, settings: {} };
  return await api.pipes.create({ ...owner, source, destination, ...rest }, limits.pipes);
}

/** A shell that is not installed skips its test, with the reason. */
function testIn(shell: string, body: () => Promise<void>): void {
  const isThere = (() => {
    try {
      return execFileSync(shell, ["--version"]).length > 0;
    } catch {
      return false;
    }
  })();
  if (!isThere) console.log(`completion in ${shell} is skipped: ${shell} is not installed (apt-get install ${shell})`);
  test.skipIf(!isThere)(`${shell} completes the name of a pipe, and shows its state`, { timeout: 60_000 }, body);
}

/** Output of a script in the shell. */
async function run(shell: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(shell, args, { cwd: folder, env, timeout: 50_000 });
  return stdout;
}

testIn("bash", async () => {
  // `script` provides the terminal in which the keys are pressed.
  const shell = spawn("script", ["-qfc", "bash --norc --noprofile -i", "/dev/null"], { cwd: folder, env });
  let shown = "";
  shell.stdout.on("data", (chunk) => {
    shown += String(chunk);
  });
  const typed = async (keys: string, expected: RegExp) => {
    shell.stdin.write(keys);
    await until(`${expected} in ${JSON.stringify(shown)}`, async () => expected.test(shown), 20_000);
  };
  try {
    await typed("PS1='REA''DY> '; source <(millrace completion bash)\r", /READY> /);
    await typed("millrace pipe get clicks-\t\t", /clicks-old {2}\(Failed in analytics\)/);
    expect(shown).toMatch(/clicks-new {2}\(\w+ in analytics\)/);
    await typed("o\t\rprint''f 'DO''NE'\r", /DONE/);
    expect(readFileSync(join(folder, "ran"), "utf8")).toBe("pipe\nget\nclicks-old\n");
    // Words of the line are never run.
    await typed("millrace pipe get $(touch run) clicks-o\t\u0015printf 'EN''DED'\r", /ENDED/);
    expect(existsSync(join(folder, "run"))).toBe(false);
  } finally {
    const ended = once(shell, "exit");
    shell.kill();
    await ended;
  }
});

testIn("fish", async () => {
  const complete = async (line: string) =>
    await run("fish", "--no-config", "-c", `millrace completion fish | source; complete -C '${line}'`);
  expect(await complete("millrace pipe get clicks-o")).toBe("clicks-old\tFailed in analytics\n");
  expect(await complete("millrace pipe st")).toMatch(/^start\t.*\nstop\t.*\n$/);
});

testIn("zsh", async () => {
  // A terminal of zsh's own, in which the keys are pressed. Each read waits for what the shell shows.
  const script = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1='READY> '; autoload -Uz compinit && compinit -u -D; source <(millrace completion zsh); print LOA''DED"
    zpty -r shell shown '*LOADED*READY> *'
    zpty -w -n shell $'millrace pipe get clicks-\\t'
    zpty -r shell shown '*Failed in analytics*'
    print -r -- "$shown"
    zpty -w -n shell $'o\\t\\r'
    zpty -w shell 'print DO''NE'
    zpty -r shell shown '*DONE*'
    zpty -d shell`;
  const shown = await run("zsh", "-f", "-c", script);
  expect(shown).toMatch(/clicks-old +-- Failed in analytics/);
  expect(readFileSync(join(folder, "ran"), "utf8")).toBe("pipe\nget\nclicks-old\n");
});
