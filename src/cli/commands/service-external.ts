/** Services whose server exists without Millrace: the flags of their connection. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import { orUndefined, present, repeated } from "../flags.ts";
import type { Shell } from "../shell.ts";

export type ConnectionFlags = {
  readonly external?: readonly string[];
  readonly user?: string;
  readonly cluster?: string;
  readonly database?: string;
  readonly caFile?: string;
};

/** Adds the flags of a connection to `service create` and `service update`. */
export function addConnectionFlags(command: Command): Command {
  return command
    .option("--external <url>", "URL of a ClickHouse server that exists; may be repeated for its other hosts", repeated)
    .option("--user <name>", "With --external: user of the server")
    .option("--cluster <name>", "With --external: cluster on which tables are created")
    .option("--database <name>", "With --external: database of names without one")
    .option("--ca-file <file>", "With --external: certificates in PEM to trust instead of the public authorities");
}

/** The body of a new external service; undefined without `--external`. `file` holds the server's password. */
export async function externalBody(shell: Shell, flags: ConnectionFlags, file: string | undefined) {
  if (flags.external === undefined) {
    const given = Object.keys(connectionMembers(shell, flags));
    if (given.length > 0) throw usageError("--user, --cluster, --database and --ca-file require --external");
    return undefined;
  }
  if (flags.user === undefined) throw usageError("--external requires --user");
  if (file === undefined) throw usageError("--external requires --password-file", "A file, or - for stdin.");
  const { username = "", urls = [], ...members } = connectionMembers(shell, flags);
  const connection = { ...members, urls: [...urls], username, password: await shell.secret(file) };
  return { runtime: "external", connection } as const;
}

/** The members of a connection that change. */
export async function changedConnection(shell: Shell, flags: ConnectionFlags, file: string | undefined) {
  const password = file === undefined ? undefined : await shell.secret(file);
  return orUndefined(present({ ...connectionMembers(shell, flags), password }));
}

function connectionMembers(shell: Shell, { external, user, cluster, database, caFile }: ConnectionFlags) {
  const tls = caFile === undefined ? undefined : { caCertificate: certificate(shell, caFile) };
  return present({ urls: external && [...external], username: user, cluster, database, tls });
}

function certificate(shell: Shell, file: string): string {
  try {
    return readFileSync(resolve(shell.io.cwd, file), "utf8");
  } catch (error) {
    throw usageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}
