/** What the completion scripts ask: candidates with descriptions, one per line, and what the shell shall do after. */
import type { Command, Option } from "commander";
import { serverCommands } from "../lib/server-commands.ts";
import { sourceDescriptions, sourceKindKeys } from "../sources/contract/descriptions.ts";
import { firstWord, programFor } from "./command-line.ts";
import type { Candidate } from "./complete-objects.ts";
import { contextsFile, readContexts } from "./credentials/contexts.ts";
import { nouns } from "./nouns.ts";
import { outputFormats } from "./output/format.ts";
import { printable } from "./output/text.ts";
import type { Shell } from "./shell.ts";

/** Directive of the scripts: offer no file names. */
const noFiles = 4;
const files = 0;
/** A slow server must not hold up the prompt. */
const patienceMs = 1_000;

/** Writes the candidates for the last of the words. Errors leave the list empty. */
export async function complete(args: readonly string[], shell: Shell): Promise<void> {
  const words = args[0] === "--" ? args.slice(1) : args;
  const current = words.at(-1) ?? "";
  let found: readonly Candidate[] | "files" = [];
  try {
    found = await candidates(words.slice(0, -1), current, shell);
  } catch {
    // Without a server or credentials there are no names.
  }
  if (found === "files") return await shell.write(`:${files}\n`);
  const lines = found
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, description }) => `${value}\t${printable(description)}`);
  await shell.write(`${[...lines, `:${noFiles}`].join("\n")}\n`);
}

async function candidates(before: readonly string[], current: string, shell: Shell): Promise<Candidate[] | "files"> {
  const word = firstWord(before);
  if (word === undefined && !current.startsWith("-") && before.at(-1)?.startsWith("-") !== true) {
    const known = [...nouns.map(({ name, summary }) => [name, summary] as const), ...Object.entries(serverCommands)];
    return [...known, ["help", "Explains a topic or a command"] as const].map(([value, description]) => ({
      value,
      description,
    }));
  }
  const program = await programFor(word, shell);
  shell.flags = flagsIn(before);
  const { command, operands } = walk(program, before);
  const pending = optionOf(command, program, before.at(-1));
  if (pending?.required === true) return await valuesOf(pending.long ?? "", shell);
  if (current.startsWith("-")) return optionsOf(command, program);
  const verbs = command.commands.map((one) => ({ value: one.name(), description: one.description() }));
  if (verbs.length > 0 && operands.length === 0) return verbs;
  const argument = command.registeredArguments[operands.length] ?? command.registeredArguments.at(-1);
  return argument === undefined ? [] : await valuesOf(argument.name(), shell);
}

function flagsIn(words: readonly string[]): Shell["flags"] {
  const valueAfter = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined);
  return { url: valueAfter("--url"), keyFile: valueAfter("--key-file"), context: valueAfter("--context") };
}

/** The command that the words name, and its operands. */
function walk(program: Command, words: readonly string[]): { command: Command; operands: string[] } {
  let command = program;
  const operands: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as string;
    if (word.startsWith("-")) {
      if (optionOf(command, program, word)?.required === true) i += 1;
      continue;
    }
    const verb = operands.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (verb === undefined) operands.push(word);
    else command = verb as Command;
  }
  return { command, operands };
}

function optionOf(command: Command, program: Command, word: string | undefined): Option | undefined {
  if (word?.startsWith("-") !== true) return undefined;
  return [...command.options, ...program.options].find(({ short, long }) => word === short || word === long);
}

function optionsOf(command: Command, program: Command): Candidate[] {
  return [...command.options, ...program.options].map(({ long, description }) => ({ value: long ?? "", description }));
}

const fixed: Readonly<Record<string, readonly string[]>> = {
  "--output": outputFormats,
  "--role": ["admin", "developer", "read_only"],
  "--kind": sourceKindKeys.map((key) => sourceDescriptions[key].word),
  "--pipes": ["none", "stopped", "running"],
  "--as": ["curl", "node", "python", "env"],
  shell: ["bash", "zsh", "fish", "powershell"],
  method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
};

/** The values of a flag or an argument: fixed ones, or names of objects with their state. */
async function valuesOf(name: string, shell: Shell): Promise<Candidate[] | "files"> {
  const values = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
  if (values !== undefined) return values.map((value) => ({ value, description: "" }));
  if (/file$|^--data$/.test(name)) return "files";
  if (name === "--context") return contextCandidates(shell);
  const object = name.replace(/^--(new-)?/, "");
  const { objectCandidates } = await import("./complete-objects.ts");
  return await objectCandidates(object, shell, patienceMs);
}

function contextCandidates(shell: Shell): Candidate[] {
  const { contexts } = readContexts(contextsFile(shell.io));
  return Object.entries(contexts).map(([value, { baseUrl }]) => ({ value, description: baseUrl }));
}
