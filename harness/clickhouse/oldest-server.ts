/**
 * The oldest ClickHouse server that `docs/external.md` accepts. The Python package of the engine of that version has
 * the server's main function. It is expected in `$MILLRACE_CACHE/python` (default `~/.cache/millrace`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ServerOptions } from "./server.ts";

const home = join(process.env.MILLRACE_CACHE ?? join(homedir(), ".cache", "millrace"), "python");
/** What else the package needs is not used. */
const packageName = "--no-deps chdb==3.7.2";
export const oldestVersion = "25.8";

const main = `import ctypes, os, sys
server = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LAZY | os.RTLD_GLOBAL)._Z25mainEntryClickHouseServeriPPc
args = [b"clickhouse-server"] + [a.encode() for a in sys.argv[2:]]
server(len(args), (ctypes.c_char_p * (len(args) + 1))(*args, None))`;

function library(): string | undefined {
  const versions = existsSync(join(home, "lib")) ? readdirSync(join(home, "lib")) : [];
  return versions.map((name) => join(home, "lib", name, "site-packages", "chdb", "_chdb.abi3.so")).find(existsSync);
}

/** Why it cannot run; undefined when it can. */
export function oldestServerMissing(): string | undefined {
  if (library() !== undefined) return undefined;
  return `ClickHouse ${oldestVersion} is missing: run "python3 -m venv ${home} && ${home}/bin/pip install ${packageName}".`;
}

/** An option of `TestServer.start`. */
export const launchOldest: NonNullable<ServerOptions["launch"]> = ([config = ""], dir): ChildProcess => {
  const args = ["-c", main, library() ?? "", config];
  return spawn(join(home, "bin", "python"), args, { cwd: dir, stdio: ["ignore", "ignore", "ignore"] });
};
