/** The commands as the parser knows them: global flags, and the verbs of one word. */
import { Command, type CommanderError } from "commander";
import { nearMatches } from "../lib/near-matches.ts";
import { serverCommands } from "../lib/server-commands.ts";
import { type CliError, usageError } from "./errors.ts";
import { nouns } from "./nouns.ts";
import type { GlobalFlags, Shell } from "./shell.ts";

const examples = `
Examples:
  millrace status                                     what needs attention
  millrace service create analytics --wait            a database, and its password once
  millrace pipe list --state Failed -o json           pipes for jq
  millrace pipe create objects --help                 from a bucket to a table

Objects are named by name, id or unique prefix; a pipe also by SERVICE/PIPE.
\`millrace help TOPIC\` explains: exit-codes, formats, environment, apply-file.`;

/** Global flags with a value. */
const valued = ["--url", "--key-file", "--context", "-o", "--output"];

/** The first operand. */
export function firstWord(args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    if (valued.includes(arg)) i += 1;
    else if (!arg.startsWith("-")) return arg;
  }
  return undefined;
}

/** The whole command with the verbs of one word; the other words have only their summaries. */
export async function programFor(word: string | undefined, shell: Shell): Promise<Command> {
  const program = new Command("millrace")
    .description("Self-hosted data service manager: databases, pipes, backups and charts")
    .version(shell.io.version, "-V, --version")
    .option("--url <url>", "URL of the server")
    .option("--key-file <file>", "File with `id:secret`, or a credentials.json")
    .option("--context <name>", "Context to use")
    .option("-o, --output <format>", "table, wide, json, yaml, ndjson, csv, name or id")
    .option("--json", "Same as -o json")
    .option("--no-color", "No colour")
    .option("--debug", "Says which credentials are used")
    .addHelpText("after", examples)
    .hook("preAction", (_, action) => {
      shell.flags = action.optsWithGlobals() as GlobalFlags;
    });
  configure(program, shell);
  for (const { name, summary, load } of nouns) {
    const command = program.command(name).description(summary);
    if (name === word) (await load())(command, shell);
  }
  for (const [name, summary] of Object.entries(serverCommands)) program.command(name).description(summary);
  for (const command of everyCommand(program)) refuseUnknown(command);
  return program;
}

/** Errors are thrown, and help is text of ours to write. */
function configure(program: Command, shell: Shell): void {
  program
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : fromCommander(error);
    })
    .configureOutput({ writeOut: (text) => shell.io.stdout.write(text), writeErr: () => {} })
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true)
    .helpCommand(false);
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...everyCommand(one as Command)]) as Command[];
}

/** A word with verbs refuses another verb by name; without one it shows its help. One with flags acts itself. */
function refuseUnknown(command: Command): void {
  if (command.commands.length === 0 || command.options.length > 0) return;
  command.allowExcessArguments().action((_, self: Command) => {
    const [verb] = self.args;
    if (verb === undefined) return self.help();
    throw unknownVerb(command, verb);
  });
}

function unknownVerb(command: Command, verb: string): CliError {
  const verbs = command.commands.map((one) => one.name());
  const near = nearMatches(verb, verbs);
  const path = `millrace ${command.name()}`;
  const hint = near.length > 0 ? `Did you mean ${path} ${near[0]}?` : `Commands: ${verbs.join(", ")}.`;
  return usageError(`unknown command '${command.name()} ${verb}'`, hint);
}

function fromCommander(error: CommanderError): CliError {
  const [message = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const help = message.startsWith("unknown option")
    ? "Add --help to see the flags. A name that begins with - goes behind all flags, after --."
    : "Add --help to see the arguments and flags.";
  return usageError(message, suggestion?.replace(/^\((.*)\)$/, "$1") ?? help);
}
