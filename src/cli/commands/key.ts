/** `millrace key`: API keys. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { pick } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addYesFlag, choiceFlag, orUndefined, present, repeated } from "../flags.ts";
import { isForPeople } from "../output/format.ts";
import { age, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { expiryOf, writeSecret } from "./secret-output.ts";

type Key = OperationResult<"listKeys">[number];

async function findKey(shell: Shell, reference: string): Promise<Key> {
  return pick("key", reference, await shell.call("listKeys", {}));
}

const roles = ["admin", "developer", "read_only", "push"] as const;

type KeyFlags = { name?: string; role?: string; state?: string; expires?: string; allow?: readonly string[] };

/** Adds the verbs of `key`. */
export function addKey(command: Command, shell: Shell): void {
  addList(command, shell);
  command
    .command("create <name>")
    .description("Creates an API key; its secret is shown once")
    .requiredOption("--role <role>", "admin, developer, read_only or push")
    .option("--pipe <id>", "Pipe to which a key with the role push sends rows")
    .option("--expires <duration>", "Lifetime (90d), or never")
    .option("--allow <cidr>", "Address or range that may use it (default: anywhere); may be repeated", repeated)
    .option("--secret-file <file>", "Writes id:secret to this new file instead of showing it")
    .action(
      async (
        name: string,
        flags: { role: string; pipe?: string; expires?: string; allow?: readonly string[]; secretFile?: string },
      ) => {
        const role = choiceFlag("--role", flags.role, roles) as (typeof roles)[number];
        const body = present({
          name,
          roles: [role],
          expireAt: expiryOf(flags.expires),
          ipAccessList: flags.allow?.map((source) => ({ source })),
          pipeId: flags.pipe,
        });
        const created = await shell.call("createKey", { body });
        await writeSecret(shell, `${created.keyId}:${created.keySecret}`, flags.secretFile, created, {
          key: created.key,
        });
        if (isForPeople(shell.format)) shell.say(`created key ${name} (${role})`);
      },
    );
  command
    .command("update <key>")
    .description("Changes name, role, state, expiry or allowed addresses of a key")
    .option("--name <name>", "New name")
    .option("--role <role>", "admin, developer or read_only")
    .option("--state <state>", "enabled or disabled")
    .option("--expires <duration>", "Lifetime from now (90d), or never")
    .option(
      "--allow <cidr>",
      "Address or range that may use it, instead of the present ones; may be repeated",
      repeated,
    )
    .action(async (reference: string, flags: KeyFlags) => {
      const { id: keyId } = await findKey(shell, reference);
      const role = choiceFlag("--role", flags.role, roles);
      const body = orUndefined(
        present({
          name: flags.name,
          roles: role === undefined ? undefined : [role],
          state: choiceFlag("--state", flags.state, ["enabled", "disabled"]),
          expireAt: expiryOf(flags.expires),
          ipAccessList: flags.allow?.map((source) => ({ source })),
        }),
      );
      if (body === undefined) throw usageError("nothing to change", "See --help for the flags.");
      const key = await shell.call("updateKey", { params: { keyId }, body });
      await shell.printDone(key, `changed ${key.name}`);
    });
  addYesFlag(command.command("delete <key>"))
    .description("Deletes a key")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const { id: keyId, name } = await findKey(shell, reference);
      await shell.confirm(`Key ${name} will be deleted.`, { ...flags, word: name });
      await shell.call("deleteKey", { params: { keyId } });
      shell.say(`deleted ${name}`);
    });
}

function addList(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists API keys")
    .action(async () => {
      await shell.printList(
        await shell.call("listKeys", {}),
        [
          { title: "NAME", value: ({ name }) => name },
          { title: "ROLE", value: ({ roles: [role] }) => role },
          { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
          { title: "KEY", value: ({ keySuffix }) => `...${keySuffix}` },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
          { title: "USED", value: ({ usedAt }) => age(usedAt), right: true },
          { title: "EXPIRES", value: ({ expireAt }) => (expireAt == null ? "never" : age(expireAt)), right: true },
          { title: "ID", value: ({ id }) => id },
        ],
        "There is no key.",
      );
    });
}
