/** `millrace top`: a live table of pipes and services. */
import type { Command } from "commander";
import type { CliClient } from "../client/client.ts";
import { listSummaries } from "../client/resolve.ts";
import { CliError, usageError } from "../errors.ts";
import { durationMs } from "../flags.ts";
import { isForPeople, machineText } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { type TopView, topLines } from "../top/view.ts";

/** Adds the flags of `top`. */
export function addTop(command: Command, shell: Shell): void {
  command
    .option("--interval <duration>", "Time between two looks; the server samples every 2 seconds", "1s")
    .option("--once", "Prints one table and ends")
    .addHelpText(
      "after",
      "\nKeys: arrows or j and k select a pipe, enter shows it, s sorts by the next column, / filters by name, q ends.\nProcessor and memory are those of the process, which may run several pipes; a key of another role than admin does not see them.\nThe processor of a pipe is that of its worker, which hands bytes over: the engine parses and writes them, and its use is in the table of services.",
    )
    .action(async (flags: { interval: string; once?: boolean }) => {
      const intervalMs = Math.max(200, durationMs(flags.interval, "--interval"));
      const client = await shell.client();
      if (flags.once === true || !isForPeople(shell.format)) {
        return await printOnce(shell, client, intervalMs, flags.once === true);
      }
      if (shell.io.stdout.isTTY !== true || shell.isDumb) {
        throw usageError("top needs a terminal", "Use --once, or -o ndjson for programs.");
      }
      const { runTop } = await import("../top/screen.ts");
      await runTop(shell, () => lookAt(client), intervalMs);
    });
}

/** What the server knows now; no service wakes. */
async function lookAt(client: CliClient): Promise<TopView> {
  const [pipes, services, { engines = [], workers = [] }] = await Promise.all([
    listSummaries(client),
    client.call("listServices", {}),
    processes(client),
  ]);
  return { pipes, services, engines, workers };
}

/** Only an admin sees processes. A server of an earlier version does not tell those of pipes. */
async function processes(client: CliClient): Promise<Partial<Pick<TopView, "engines" | "workers">>> {
  try {
    return (await client.call("getSystem", {})) as Partial<Pick<TopView, "engines" | "workers">>;
  } catch (error) {
    if (error instanceof CliError && error.code === "FORBIDDEN") return {};
    throw error;
  }
}

async function printOnce(shell: Shell, client: CliClient, intervalMs: number, once: boolean): Promise<void> {
  const { setTimeout: delay } = await import("node:timers/promises");
  for (;;) {
    try {
      const view = await lookAt(client);
      if (isForPeople(shell.format)) {
        await shell.write(
          `${topLines(view, { color: false, width: undefined, sort: "lag", filter: "", selected: undefined }).join("\n")}\n`,
        );
      } else await shell.write(await machineText([{ at: new Date().toISOString(), ...view }], "ndjson"));
    } catch (error) {
      if (once || !(error instanceof CliError && error.code === "UNREACHABLE")) throw error;
      shell.say(error.message);
    }
    if (once) return;
    await delay(intervalMs, undefined, { signal: shell.signal });
  }
}
