/** Commands that reach one pipe or several. */
import type { Command } from "commander";
import type { CliClient } from "../client/client.ts";
import { findPipe, listSummaries, type PipeSummary } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addSelectorFlag, selectPipes } from "../selector.ts";

export type Several = { readonly all?: boolean; readonly selector?: string };

/** Adds `--all` and `--selector`. */
export function addSeveral(command: Command): Command {
  return addSelectorFlag(command.option("--all", "All pipes"), "All pipes of services with these tags");
}

/** The named pipe, or all of `--all` or `--selector`. Throws unless exactly one of the three is given. */
export async function pipesOf(
  client: CliClient,
  reference: string | undefined,
  { all, selector }: Several,
): Promise<PipeSummary[]> {
  const given = [reference !== undefined, all === true, selector !== undefined].filter(Boolean);
  if (given.length !== 1) throw usageError("name a pipe, or use either --all or --selector");
  if (selector !== undefined) return await selectPipes(client, selector);
  return reference === undefined ? await listSummaries(client) : [await findPipe(client, reference)];
}
