/** `millrace login`, `logout` and `whoami`. */
import type { Command } from "commander";
import { contextsFile, readContexts, writeContexts } from "../credentials/contexts.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import { present } from "../flags.ts";
import type { Shell } from "../shell.ts";

/** Adds the arguments of `login`. */
export function addLogin(command: Command, shell: Shell): void {
  command
    .argument("[name]", "Name of the context; default: the host of the server")
    .addHelpText(
      "after",
      "\nThe key is checked at the server and stored with mode 0600. Without --key-file the credentials found are used.",
    )
    .action(async (given?: string) => {
      const client = await shell.client();
      const organizationId = await client.organizationId();
      const { baseUrl, keyId, keySecret, accessToken, origin } = client.credentials;
      const name = given ?? new URL(baseUrl).host;
      const file = contextsFile(shell.io);
      const stored = readContexts(file);
      const context = present({ baseUrl, organizationId, keyId, keySecret, accessToken });
      writeContexts(file, { current: name, contexts: { ...stored.contexts, [name]: context } });
      if (shell.flags.debug === true) shell.say(`the key is from ${origin}`);
      shell.say(`context ${name} is current: ${baseUrl}`);
    });
}

/** Adds the arguments of `logout`. */
export function addLogout(command: Command, shell: Shell): void {
  command
    .argument("[name]", "Name of the context; default: the current one")
    .description("Removes a context with its key from this machine; the key stays valid")
    .action((name?: string) => removeContext(shell, name));
}

/** Removes a stored context. Exit code 5 if there is none with the name. */
export function removeContext(shell: Shell, given: string | undefined): void {
  const file = contextsFile(shell.io);
  const { current, contexts } = readContexts(file);
  const name = given ?? current;
  if (name === undefined) throw usageError("there is no current context");
  if (!Object.hasOwn(contexts, name)) {
    throw new CliError(`there is no context ${name}`, { exitCode: exitCodes.notFound, code: "NOT_FOUND" });
  }
  const { [name]: _, ...rest } = contexts;
  writeContexts(file, { ...(current === name || current === undefined ? {} : { current }), contexts: rest });
  shell.say(`removed the context ${name}`);
}

/** Adds the action of `whoami`. */
export function addWhoami(command: Command, shell: Shell): void {
  command.action(async () => {
    const client = await shell.client();
    const me = await client.call("getMe", {});
    const { baseUrl, keyId, origin } = client.credentials;
    await shell.printOne({ ...me, baseUrl, origin }, [
      ["server", baseUrl],
      ["version", me.version],
      ["organization", `${me.organization.name} (${me.organization.id})`],
      ["key", `${me.key.name} (${keyId})`],
      ["role", me.key.role],
      ["found in", origin],
      ["this program", shell.io.version],
    ]);
  });
}
