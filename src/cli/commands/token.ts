/** `millrace token`: access tokens of the observability API. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { pick } from "../client/resolve.ts";
import { contextsFile, readContexts, writeContexts } from "../credentials/contexts.ts";
import { usageError } from "../errors.ts";
import { addYesFlag, present } from "../flags.ts";
import { age, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { expiryOf, writeSecret } from "./secret-output.ts";

type Token = OperationResult<"listAccessTokens">[number];

async function findToken(shell: Shell, reference: string): Promise<Token> {
  return pick("token", reference, await shell.call("listAccessTokens", {}));
}

type CreateFlags = { readonly expires?: string; readonly secretFile?: string; readonly save?: boolean };

/** Adds the verbs of `token`. */
export function addToken(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists access tokens")
    .action(async () => {
      await shell.printList(
        await shell.call("listAccessTokens", {}),
        [
          { title: "NAME", value: ({ name }) => name },
          { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
          { title: "TOKEN", value: ({ tokenSuffix }) => `...${tokenSuffix}` },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
          { title: "USED", value: ({ usedAt }) => age(usedAt), right: true },
          { title: "EXPIRES", value: ({ expireAt }) => (expireAt == null ? "never" : age(expireAt)), right: true },
          { title: "ID", value: ({ id }) => id },
        ],
        "There is no token.",
      );
    });
  command
    .command("create <name>")
    .description("Creates an access token; it is shown once")
    .option("--expires <duration>", "Lifetime (90d), or never")
    .option("--secret-file <file>", "Writes the token to this new file instead of showing it")
    .option("--save", "Stores the token in the current context instead of showing it")
    .action(async (name: string, flags: CreateFlags) => await create(shell, name, flags));
  command
    .command("update <token>")
    .description("Changes the state or expiry of a token")
    .option("--state <state>", "enabled or disabled")
    .option("--expires <duration>", "Lifetime from now (90d), or never")
    .action(async (reference: string, flags: { state?: "enabled" | "disabled"; expires?: string }) => {
      const { id: tokenId } = await findToken(shell, reference);
      const body = present({ state: flags.state, expireAt: expiryOf(flags.expires) });
      const token = await shell.call("updateAccessToken", { params: { tokenId }, body });
      await shell.printDone(token, `changed ${token.name}`);
    });
  addYesFlag(command.command("delete <token>"))
    .description("Deletes a token")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const { id: tokenId, name } = await findToken(shell, reference);
      await shell.confirm(`Token ${name} will be deleted.`, { ...flags, word: name });
      await shell.call("deleteAccessToken", { params: { tokenId } });
      shell.say(`deleted ${name}`);
    });
}

async function create(shell: Shell, name: string, flags: CreateFlags): Promise<void> {
  const file = contextsFile(shell.io);
  const stored = readContexts(file);
  const context = shell.flags.context ?? (shell.io.env.MILLRACE_CONTEXT || stored.current);
  const target = context === undefined ? undefined : stored.contexts[context];
  if (flags.save === true && (context === undefined || target === undefined)) {
    throw usageError("--save needs a context", "millrace login makes one.");
  }
  const body = present({ name, expireAt: expiryOf(flags.expires) });
  const created = await shell.call("createAccessToken", { body });
  if (flags.save !== true || context === undefined || target === undefined) {
    return await writeSecret(shell, created.accessToken, flags.secretFile, created, { token: created.token });
  }
  const contexts = { ...stored.contexts, [context]: { ...target, accessToken: created.accessToken } };
  writeContexts(file, { ...stored, contexts });
  shell.say(`stored the token in the context ${context}`);
}
