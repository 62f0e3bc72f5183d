/** Runs one command line and returns its exit code. */
import { CommanderError } from "commander";
import { nearMatches } from "../lib/near-matches.ts";
import { serverCommands } from "../lib/server-commands.ts";
import { firstWord, programFor } from "./command-line.ts";
import type { Surroundings } from "./environment.ts";
import { type CliError, errorDocument, errorText, exitCodes, toCliError, usageError } from "./errors.ts";
import { nouns } from "./nouns.ts";
import { type GlobalFlags, interrupted, Shell } from "./shell.ts";

/** Runs the command and reports its error on stderr. Never throws. */
export async function runCli(args: readonly string[], io: Surroundings): Promise<number> {
  const shell = new Shell(io);
  shell.flags = { json: args.includes("--json"), output: outputOf(args) } as GlobalFlags;
  try {
    await run(args, shell);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    const failure = io.signal.aborted ? interrupted(shell.afterInterrupt) : toCliError(error);
    io.stderr.write(isJson(shell) ? errorDocument(failure) : errorText(failure));
    return failure.exitCode;
  }
}

function isJson(shell: Shell): boolean {
  return shell.flags.json === true || ["json", "ndjson"].includes(shell.flags.output ?? "");
}

/** The output format before the command line is parsed, for errors of parsing. */
function outputOf(args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => arg === "-o" || arg === "--output");
  return at < 0 ? undefined : args[at + 1];
}

async function run(args: readonly string[], shell: Shell): Promise<void> {
  const word = firstWord(args);
  if (word === "help") {
    const { showHelp } = await import("./help.ts");
    return await showHelp(args.slice(args.indexOf("help") + 1), shell);
  }
  if (word === "complete") {
    const { complete } = await import("./complete.ts");
    return await complete(args.slice(args.indexOf("complete") + 1), shell);
  }
  if (word !== undefined && !nouns.some(({ name }) => name === word)) throw unknownCommand(word);
  const program = await programFor(word, shell);
  await program.parseAsync([...args], { from: "user" });
}

function unknownCommand(word: string): CliError {
  const names = [...nouns.map(({ name }) => name), ...Object.keys(serverCommands), "help"];
  const near = nearMatches(word, names);
  const hint = near.length > 0 ? `Did you mean millrace ${near[0]}?` : "millrace --help lists the commands.";
  return usageError(`unknown command '${word}'`, hint);
}
