/** `millrace context`. */
import type { Command } from "commander";
import { contextsFile, readContexts, writeContexts } from "../credentials/contexts.ts";
import { CliError, exitCodes } from "../errors.ts";
import { isForPeople } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { removeContext } from "./login.ts";

/** Adds the verbs of `context`. */
export function addContext(command: Command, shell: Shell): void {
  const stored = () => readContexts(contextsFile(shell.io));
  command
    .command("list")
    .description("Lists contexts; * is the current one")
    .action(async () => {
      const { current, contexts } = stored();
      const rows = Object.entries(contexts).map(([name, { baseUrl, organizationId }]) => ({
        name,
        baseUrl,
        organizationId,
        current: name === current,
      }));
      await shell.printList(
        rows,
        [
          { title: "", value: (row) => (row.current ? "*" : " ") },
          { title: "NAME", value: ({ name }) => name },
          { title: "URL", value: ({ baseUrl }) => baseUrl },
          { title: "ORGANIZATION", value: ({ organizationId }) => organizationId },
        ],
        "There is no context. millrace login --url URL --key-file FILE",
      );
    });
  command
    .command("use <name>")
    .description("Makes a context the current one")
    .action((name: string) => {
      const { contexts } = stored();
      if (!Object.hasOwn(contexts, name)) {
        throw new CliError(`there is no context ${name}`, { exitCode: exitCodes.notFound, code: "NOT_FOUND" });
      }
      writeContexts(contextsFile(shell.io), { current: name, contexts });
      shell.say(`context ${name} is current`);
    });
  command
    .command("show")
    .description("Shows where credentials come from, without secrets")
    .action(async () => {
      const { baseUrl, keyId, organizationId, origin } = (await shell.client()).credentials;
      const shown = { baseUrl, keyId, organizationId, origin };
      if (!isForPeople(shell.format)) return await shell.printOne(shown, []);
      await shell.printOne(shown, Object.entries(shown));
    });
  command
    .command("remove <name>")
    .description("Removes a context with its key from this machine")
    .action((name: string) => removeContext(shell, name));
}
