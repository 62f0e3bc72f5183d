/** `millrace help`: topics, and the help of commands. */
import type { Command } from "commander";
import { programFor } from "./command-line.ts";
import { usageError } from "./errors.ts";
import { nouns } from "./nouns.ts";
import type { Shell } from "./shell.ts";
import { topics } from "./topics.ts";

/** Shows a topic, a command, or the overview. */
export async function showHelp(words: readonly string[], shell: Shell): Promise<void> {
  const [word, verb] = words.filter((one) => !one.startsWith("-"));
  if (word !== undefined && Object.hasOwn(topics, word)) return await shell.write(`${topics[word]}\n`);
  const program = await programFor(word, shell);
  if (word === undefined) return await shell.write(program.helpInformation());
  const names = nouns.map(({ name }) => name);
  const noun = program.commands.find((one) => one.name() === word);
  if (noun === undefined) {
    throw usageError(
      `there is no help about ${word}`,
      `Topics: ${Object.keys(topics).join(", ")}. Commands: ${names.join(", ")}.`,
    );
  }
  const command = noun.commands.find((one) => one.name() === verb) ?? noun;
  await shell.write((command as Command).helpInformation());
}
