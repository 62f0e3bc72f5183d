/** `millrace mcp`. */
import type { Command } from "commander";
import type { Shell } from "../shell.ts";

/** Adds the flags of `mcp`. */
export function addMcp(command: Command, shell: Shell): void {
  command
    .option("--write", "Also offers tools that start, stop, replay and back up; none deletes or restores")
    .addHelpText(
      "after",
      "\nGive it a key of its own with the role read_only: millrace key create agent --role read_only",
    )
    .action(async (flags: { write?: boolean }) => {
      const { serveTools } = await import("../mcp/server.ts");
      await serveTools(shell, await shell.client(), flags.write === true);
    });
}
