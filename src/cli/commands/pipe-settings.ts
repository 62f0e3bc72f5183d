/** `pipe settings`. */
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import { pairFlag } from "../flags.ts";
import type { Shell } from "../shell.ts";
import { addSeveral, pipesOf, type Several } from "./several-pipes.ts";

/** Adds the verb. */
export function addSettings(command: Command, shell: Shell): void {
  addSeveral(command.command("settings [pipe] [name=value...]"))
    .description("Shows the settings of a pipe, or sets some; name= resets one to its default")
    .action(async (first: string | undefined, others: readonly string[], flags: Several) => {
      // With --all and --selector there is no pipe, and the first argument is a setting.
      const isSeveral = flags.all === true || flags.selector !== undefined;
      const reference = isSeveral && first?.includes("=") === true ? undefined : first;
      const pairs = reference === undefined && first !== undefined ? [first, ...others] : others;
      const client = await shell.client();
      const shown = [];
      for (const { name, id: pipeId, serviceId } of await pipesOf(client, reference, flags)) {
        const params = { serviceId, pipeId };
        const settings =
          pairs.length === 0
            ? await client.call("getPipeSettings", { params })
            : await client.call("updatePipeSettings", { params, body: settingsOf(pairs) });
        shown.push({ name, settings });
      }
      if (isSeveral) await printSeveral(shell, shown);
      else for (const { settings } of shown) await printSettings(shell, settings);
    });
}

type Settings = Readonly<Record<string, unknown>>;

async function printSettings(shell: Shell, settings: Settings): Promise<void> {
  await shell.printOne(settings, Object.entries(settings));
  if (Object.keys(settings).length === 0) shell.say("All settings have their defaults.");
}

async function printSeveral(shell: Shell, shown: readonly { name: string; settings: Settings }[]): Promise<void> {
  const text = (settings: Settings) => Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await shell.printList(
    shown,
    [
      { title: "PIPE", value: ({ name }) => name },
      { title: "SETTINGS", value: ({ settings }) => text(settings).join(" ") },
    ],
    "There is no pipe.",
  );
}

/** `name=value` pairs: integers, booleans, and null for nothing. */
export function settingsOf(pairs: readonly string[]): Record<string, number | boolean | null> {
  const entries = pairs.map((text) => {
    const [name, value] = pairFlag("setting", text);
    if (value === "") return [name, null] as const;
    if (value === "true" || value === "false") return [name, value === "true"] as const;
    if (!/^-?\d+$/.test(value)) throw usageError(`${name}=${value}: settings are integers, true or false`);
    return [name, Number(value)] as const;
  });
  return Object.fromEntries(entries);
}
