/**
 * The program: starts the server, or runs one command. It loads only what the command needs, and is the only place that
 * exits the process.
 */
import { readFileSync } from "node:fs";
import { keepCompiledCode } from "./lib/compile-cache.ts";
import { serverCommands } from "./lib/server-commands.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

// Files of this process and its children are accessible to their user alone.
process.umask(0o077);

const args = process.argv.slice(2);
const [first] = args;
/** Flags before the word of a command; any other first flag is one of `serve`, which is the default. */
const commandFlag = /^(-h|-o.*|--(help|url|key-file|context|output|json|no-color|debug)(=.*)?)$/;

if (first === "--version" || first === "-V") {
  console.log(version);
} else if (
  first === undefined ||
  Object.hasOwn(serverCommands, first) ||
  (first.startsWith("-") && !commandFlag.test(first))
) {
  keepCompiledCode();
  const { runServerCommand } = await import("./processes/server-command.ts");
  process.exit(await runServerCommand(process.argv, version));
} else {
  keepCompiledCode();
  process.exitCode = await runCommand();
}

async function runCommand(): Promise<number> {
  const [{ runCli }, { ownSurroundings }] = await Promise.all([
    import("./cli/program.ts"),
    import("./cli/environment.ts"),
  ]);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  // The reader of a pipe such as `head` may leave early.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const code = await runCli(args, ownSurroundings(stop.signal, version));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeAllListeners(signal);
  return code;
}
