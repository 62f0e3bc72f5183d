/** `millrace backup restore`: a whole service, a database or a table. */
import type { Command } from "commander";
import { findBackup, resolveService } from "../client/resolve.ts";
import { CliError, usageError } from "../errors.ts";
import { addWaitFlags, addYesFlag, choiceFlag, present } from "../flags.ts";
import { byteSize, count } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import { awaitRestore } from "./backup-wait.ts";

type RestoreFlags = WaitFlags & {
  readonly newService?: string;
  readonly pipes?: string;
  readonly table?: string;
  readonly database?: string;
  readonly to?: string;
  readonly service?: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly passwordFile?: string;
};

/** Adds `restore` and `restores`. */
export function addRestore(command: Command, shell: Shell): void {
  const restore = command
    .command("restore <backup>")
    .description("Restores a backup (or latest:SERVICE): a whole service, a database or a table")
    .option("--new-service <name>", "Restores everything into a new service")
    .option("--pipes <state>", "With --new-service: pipes of the backup are none, stopped or running")
    .option("--password-file <file>", "With --new-service: writes the password to this new file")
    .option("--table <database.table>", "Restores one table")
    .option("--database <name>", "Restores one database")
    .option("--to <name>", "Name of the restored table (database.table) or database, which must not exist")
    .option("--service <service>", "Service that receives it; default: the service of the backup")
    .option("--force", "Also from a backup that is damaged or not verified");
  addWaitFlags(addYesFlag(restore), "it is restored").action(
    async (reference: string, flags: RestoreFlags) => await run(shell, reference, flags),
  );
  command
    .command("restores <service>")
    .description("Lists the restores into a service")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      await shell.printList(
        await client.call("listRestores", { params: { serviceId } }),
        [
          { title: "ID", value: ({ id }) => id },
          { title: "SCOPE", value: ({ scope }) => scope },
          { title: "STATUS", value: ({ status }) => status },
          { title: "DONE", value: ({ progress }) => byteSize(progress.doneBytes), right: true },
          { title: "TOTAL", value: ({ progress }) => byteSize(progress.totalBytes), right: true },
          { title: "ERROR", value: ({ error }) => error },
        ],
        "There is no restore.",
      );
    });
}

async function run(shell: Shell, reference: string, flags: RestoreFlags): Promise<void> {
  checkWait(flags);
  const named = [flags.newService, flags.table, flags.database].filter((value) => value !== undefined);
  if (named.length !== 1) throw usageError("name one of --new-service, --table and --database");
  if (flags.newService !== undefined) {
    const { id: backupId, serviceId } = await findBackup(await shell.client(), reference);
    const restorePipes = choiceFlag("--pipes", flags.pipes, ["none", "stopped", "running"]);
    await showPlan(shell, { serviceId, backupId }, present({ restorePipes, force: flags.force }));
    await shell.confirm(`Service ${flags.newService} will be created.`, { yes: flags.yes });
    const { createService } = await import("./service-create.ts");
    const { newService, pipes, force, passwordFile, wait, timeout } = flags;
    const given = present({ fromBackup: reference, pipes, force, passwordFile, wait, timeout });
    return await createService(shell, newService, given);
  }
  const client = await shell.client();
  const found = await findBackup(client, reference);
  const params = { serviceId: found.serviceId, backupId: found.id };
  const receiver = flags.service === undefined ? undefined : await resolveService(client, flags.service);
  const body = present({ ...targetOf(flags), targetServiceId: receiver?.id, force: flags.force });
  const problems = await showPlan(shell, params, body);
  if (problems.length > 0) {
    throw new CliError(`nothing was restored: ${problems.join(" ")}`, {
      hint: "Name what does not exist yet with --to. A backup that is damaged or not verified needs --force.",
    });
  }
  await shell.confirm("The plan will be carried out.", { yes: flags.yes });
  const restore = await client.call("restoreBackup", { params, body });
  const last = flags.wait === true ? await awaitRestore(shell, restore, flags) : restore;
  for (const note of last.notes) shell.say(note);
  await shell.printDone(last, `restore ${last.id}: ${last.status}`);
}

/** Says on stderr what the restore will do. Returns why it would be refused or fail. */
async function showPlan(
  shell: Shell,
  params: { readonly serviceId: string; readonly backupId: string },
  body: object,
): Promise<readonly string[]> {
  const plan = await shell.call("planRestore", { params, body: body as never });
  for (const { database, table, rows, targetDatabase, targetTable } of plan.tables) {
    shell.say(`restores ${database}.${table} (${count(rows)} rows) as ${targetDatabase}.${targetTable}`);
  }
  for (const { name, effect, note } of plan.pipes) shell.say(`pipe ${name}: ${effect}${note ? `, ${note}` : ""}`);
  shell.say(`users: ${plan.users.note}`);
  shell.say(`reads ${byteSize(plan.fetchedBytes)}, restores ${byteSize(plan.restoredBytes)}`);
  return plan.problems;
}

function targetOf({ table, database, to }: RestoreFlags) {
  if (database !== undefined) {
    if (to === undefined) throw usageError("--database needs --to NAME, a database that does not exist");
    return { database, targetDatabase: to };
  }
  const [source, name] = splitTable("--table", table ?? "");
  if (to === undefined) throw usageError("--table needs --to DATABASE.TABLE, a table that does not exist");
  const [targetDatabase, targetTable] = to.includes(".") ? splitTable("--to", to) : [source, to];
  return { database: source, table: name, targetDatabase, targetTable };
}

function splitTable(flag: string, text: string): [database: string, table: string] {
  const at = text.indexOf(".");
  if (at < 1 || at === text.length - 1) throw usageError(`${flag} ${text}: must be database.table`);
  return [text.slice(0, at), text.slice(at + 1)];
}
