/**
 * The command line of ClickHouse Cloud. It is expected in `$MILLRACE_CACHE/python` (default `~/.cache/millrace`), a
 * virtual environment of Python 3. It gets a home of its own, and reaches no other host.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { FirstCredentials } from "../src/api/first-credentials.ts";

const home = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "python");
const program = join(home, "bin", "clickhousectl");
const version = "0.5.0";

/** Why it cannot run; undefined when it can. */
export function clickhousectlMissing(): string | undefined {
  if (existsSync(program)) return undefined;
  return `clickhousectl is missing: run "python3 -m venv ${home} && ${home}/bin/pip install clickhousectl==${version}".`;
}

export type Clickhousectl = Disposable & {
  /** The JSON that a command of `cloud` prints; undefined when it prints none. Throws with its output on failure. */
  // biome-ignore lint/suspicious/noExplicitAny: records under test are looked at member by member
  cloud(...args: string[]): Promise<any>;
};

export function clickhousectl({ cloudApiUrl, keyId, keySecret }: FirstCredentials): Clickhousectl {
  const folder = mkdtempSync(join(tmpdir(), "millrace-ctl-"));
  const env = {
    ...{ PATH: process.env.PATH ?? "", HOME: folder, DO_NOT_TRACK: "1", HTTPS_PROXY: "http://127.0.0.1:1" },
    ...{ CLICKHOUSE_CLOUD_API_KEY: keyId, CLICKHOUSE_CLOUD_API_SECRET: keySecret },
  };
  return {
    cloud: async (...args) => {
      const url = cloudApiUrl.replace(/\/v1$/, "");
      const child = spawn(program, ["cloud", "--url", url, ...args, "--json"], { cwd: folder, env });
      let [output, errors] = ["", ""];
      child.stdout.on("data", (chunk) => {
        output += String(chunk);
      });
      child.stderr.on("data", (chunk) => {
        errors += String(chunk);
      });
      const [code] = await once(child, "close");
      if (code !== 0) throw new Error(`clickhousectl cloud ${args.join(" ")}: ${output}${errors}`);
      return /^\s*[[{]/.test(output) ? JSON.parse(output) : undefined;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
