/** The contexts file: servers by name with their keys, readable by its owner alone. */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../lib/make-folder.ts";
import type { Surroundings } from "../environment.ts";
import { CliError, exitCodes } from "../errors.ts";

/** `keyCommand` prints `id:secret`, for example from a password manager. */
export type CliContext = {
  readonly baseUrl: string;
  readonly organizationId?: string;
  readonly keyId?: string;
  readonly keySecret?: string;
  readonly keyCommand?: string;
  readonly accessToken?: string;
};

export type Contexts = { readonly current?: string; readonly contexts: Readonly<Record<string, CliContext>> };

/** The path in the configuration folder of the user. */
export function contextsFile({ env, home }: Pick<Surroundings, "env" | "home">): string {
  const folder = env.XDG_CONFIG_HOME || join(home, ".config");
  return join(folder, "millrace", "contexts.json");
}

/** Without a file there are no contexts. Throws if others may read the file, or if it is not valid. */
export function readContexts(file: string): Contexts {
  if (!existsSync(file)) return { contexts: {} };
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new CliError(`${file} holds keys and is accessible to other users`, {
      exitCode: exitCodes.usage,
      code: "CONTEXTS_EXPOSED",
      hint: `chmod 600 ${file}`,
    });
  }
  try {
    const { current, contexts } = JSON.parse(readFileSync(file, "utf8")) as Contexts;
    return { ...(current === undefined ? {} : { current }), contexts: contexts ?? {} };
  } catch {
    throw new CliError(`${file} is not valid JSON`, { exitCode: exitCodes.usage, code: "CONTEXTS_INVALID" });
  }
}

/** Replaces the file at once. */
export function writeContexts(file: string, contexts: Contexts): void {
  makeFolder(dirname(file));
  writeFileSync(`${file}.new`, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
