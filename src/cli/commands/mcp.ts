/** `millrace mcp`. */
import type { Command } from "commander";
import { resolveService } from "../client/resolve.ts";
import type { Shell } from "../shell.ts";

/** Adds the flags of `mcp`. */
export function addMcp(command: Command, shell: Shell): void {
  command
    .option("--write", "Also offers tools that start, stop, replay, back up and create pipes; none deletes or restores")
    .option("--service <service>", "Service of calls that name none; it limits nothing, the role of the key does")
    .addHelpText(
      "after",
      "\nGive it a key of its own with the role read_only: millrace key create agent --role read_only",
    )
    .action(async (flags: { write?: boolean; service?: string }) => {
      const { serveTools } = await import("../mcp/server.ts");
      const client = await shell.client();
      const service = flags.service === undefined ? undefined : (await resolveService(client, flags.service)).id;
      await serveTools(shell, client, { writes: flags.write === true, service });
    });
}
