/**
 * The genuine ClickHouse server in this process: it is started on a data directory, listens on a loopback port and ends
 * with the process.
 */
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { callC } from "../../lib/native-library.ts";
import { type ConfigurationFiles, type EngineConfiguration, noFilesDir, writeConfiguration } from "./configuration.ts";
import { runEngine } from "./library.ts";
import { forgetLostInserts } from "./lost-inserts.ts";

/** The local tool exits after its last statement: this one runs for about a hundred years. */
const keepAlive = `SELECT sleepEachRow(3) FROM numbers(1000000000)
  SETTINGS function_sleep_max_microseconds_per_block = 1000000000000, max_block_size = 1, max_threads = 1,
  log_queries = 0, max_execution_time = 0 FORMAT Null`;

/** HTTP is the last one: whoever reaches it finds the native protocol open. */
const listen = "SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP";

export type ServerThread = {
  /** Rejects when the server has ended. */
  readonly ended: Promise<never>;
  readonly files: ConfigurationFiles;
  /** Takes the terminal away once the engine has seen it, so that it can end; to be called again while it starts. */
  readonly leaveTerminal: () => void;
};

/**
 * Starts the server in a separate thread. It starts to listen later: see `connectServer`.
 *
 * The local tool ends its process when an exception leaves a thread of a connection, as garbage at its ports causes,
 * unless it believes that a person types at it: then it drops the connection. So it is started as interactive, which it
 * believes where its input is a terminal (`Rules.terminal`). After a failure it would wait there for statements, so it
 * must find the end of its input.
 */
export function startServer(options: EngineConfiguration & { readonly configDir: string }): ServerThread {
  const files = writeConfiguration(options.configDir, options);
  // The engine takes unknown names of tables for files below its working folder.
  process.chdir(noFilesDir(options.configDir));
  // The engine forgets at its end that it has this table, and cannot create it while its folder is there.
  rmSync(join(options.dataDir, "data", "system", "query_log"), { recursive: true, force: true });
  forgetLostInserts(options.dataDir);
  // The engine writes it after it has looked at its input.
  const statusFile = join(options.dataDir, "status");
  rmSync(statusFile, { force: true });
  let hasTerminal = true;
  const leaveTerminal = () => {
    if (!hasTerminal || !existsSync(statusFile)) return;
    hasTerminal = false;
    const nothing = openSync("/dev/null", "r");
    callC("dup2", [nothing, 0]);
    closeSync(nothing);
  };
  const args = ["--interactive", "--progress=off", `--config-file=${files.server}`, `--path=${options.dataDir}`];
  const ended = runEngine([...args, "--query", `${listen}; ${keepAlive}`]).then(() => {
    throw new Error("the engine has ended");
  });
  ended.catch(() => {});
  return { ended, files, leaveTerminal };
}
