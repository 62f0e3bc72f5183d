/** Verbs that change pipes: start, stop, resync, update, scale, settings, delete. */
import type { Command } from "commander";
import { sourceDescriptions, sourceKindKeys } from "../../sources/contract/descriptions.ts";
import { errorTableNameOf } from "../../sources/contract/destination.ts";
import type { CliClient } from "../client/client.ts";
import type { PipeSummary } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import {
  addWaitFlags,
  addYesFlag,
  choiceFlag,
  integerFlag,
  numberFlag,
  orUndefined,
  present,
  repeated,
} from "../flags.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import type { ColumnFlags } from "./pipe-new-columns.ts";
import { addSettings } from "./pipe-settings.ts";
import { awaitPipe } from "./pipe-wait.ts";
import { wakeService } from "./service-state.ts";
import { addSeveral, pipesOf, type Several } from "./several-pipes.ts";

/** Adds the verbs. */
export function addPipeChanges(command: Command, shell: Shell): void {
  const verbs = [
    ["start", "Starts a pipe; a Completed one looks for new objects"],
    ["stop", "Stops a pipe; it keeps its position"],
    ["resync", "Loads everything again from the beginning of the source"],
  ] as const;
  for (const [verb, summary] of verbs) {
    const added = addSeveral(command.command(`${verb} [pipe]`)).description(summary);
    if (verb === "resync") {
      addYesFlag(added)
        .option("--rows <what>", "Rows in the table: keep or truncate; not for a database")
        .option("--table <schema.name>", "Only this table of a database; may be repeated", repeated)
        .option("--object <key>", "Only this object, for objects, with --rows keep")
        .option("--prefix <prefix>", "Only objects whose keys begin so, with --rows keep");
    }
    addWaitFlags(added, verb === "stop" ? "it is stopped" : "it runs").action(
      async (reference: string | undefined, flags: CommandFlags) => await commandPipes(shell, verb, reference, flags),
    );
  }
  addUpdate(command, shell);
  addScale(command, shell);
  addSettings(command, shell);
  addWaitFlags(addYesFlag(addSeveral(command.command("delete [pipe]"))), "it is gone")
    .description("Deletes a pipe; its table stays")
    .action(async (reference: string | undefined, flags: CommandFlags) => await deletePipes(shell, reference, flags));
}

async function deletePipes(shell: Shell, reference: string | undefined, flags: CommandFlags): Promise<void> {
  const client = await shell.client();
  const pipes = await pipesOf(client, reference, flags);
  const names = pipes.map(({ name }) => name).join(", ");
  if (pipes.length > 0) {
    // One pipe is confirmed by its name, several by `yes` below their names.
    const word = pipes.length === 1 ? { word: names } : {};
    await shell.confirm(`Deleted will be ${names}. What stays: ${remains(pipes)}.`, { yes: flags.yes, ...word });
  }
  const deleted = [];
  for (const { id: pipeId, serviceId } of pipes) {
    const result = await client.call("deletePipe", { params: { serviceId, pipeId } });
    for (const { kind, name: left } of result.leftovers) shell.say(`still at the source: ${kind} ${left}`);
    deleted.push(result);
  }
  const single = reference !== undefined;
  const done = names ? `deleted ${names}; ${remains(pipes)} stay` : noPipe;
  await shell.printDone(single ? deleted[0] : deleted, done, single ? pipes[0] : pipes);
}

/** The tables of pipes, each with that of its refused rows. */
function remains(pipes: readonly PipeSummary[]): string {
  const tables = pipes.map(({ destination: { database = "default", table } }) =>
    table === undefined ? `the tables of ${database}` : `${database}.${table} and ${errorTableNameOf(table)}`,
  );
  return [...new Set(tables)].join(", ");
}

type PipeVerb = "start" | "stop" | "resync";
type CommandFlags = WaitFlags &
  Several & {
    readonly yes?: boolean;
    readonly rows?: string;
    readonly table?: string[];
    readonly object?: string;
    readonly prefix?: string;
  };

async function commandPipes(
  shell: Shell,
  command: PipeVerb,
  reference: string | undefined,
  flags: CommandFlags,
): Promise<void> {
  checkWait(flags);
  const parts = [...(flags.table ?? []), flags.object, flags.prefix && `${flags.prefix}*`].filter(
    (part) => part != null,
  );
  if (parts.length > 0 && reference === undefined) {
    throw usageError("--table, --object and --prefix are for one pipe: name it");
  }
  const pipes = await pipesOf(await shell.client(), reference, flags);
  if (command === "resync") {
    const which = pipes.map(({ name }) => name).join(", ");
    const what = parts.length === 0 ? "Everything" : parts.join(", ");
    await shell.confirm(`${what} will be loaded again by ${which}.`, { yes: flags.yes });
  }
  const changed = [];
  for (const pipe of pipes) changed.push(await commandPipe(shell, pipe, command, flags));
  const sentence = changed.map(({ name, state }) => `${name}: ${state}`).join(", ");
  const stays = objectsOf(flags) === undefined ? "" : "; rows of earlier loads stay, also of objects that are gone";
  await shell.printDone(reference === undefined ? changed : changed[0], sentence ? `${sentence}${stays}` : noPipe);
}

async function commandPipe(shell: Shell, pipe: PipeSummary, command: PipeVerb, flags: CommandFlags) {
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  const rows = choiceFlag("--rows", flags.rows, ["keep", "truncate"]);
  const isDone = command === "stop" ? pipe.state === "Stopped" : command === "start" && pipe.state === "Running";
  if (!isDone)
    await shell.call("updatePipeState", {
      params,
      body: present({ command, rows, tables: flags.table, objects: objectsOf(flags) }),
    });
  if (flags.wait !== true) return await shell.call("getPipe", { params });
  return await awaitPipe(shell, pipe, command === "stop" ? "stopped" : "running", flags);
}

function objectsOf({ object, prefix }: CommandFlags): { key: string } | { prefix: string } | undefined {
  if (object !== undefined && prefix !== undefined) throw usageError("use --object or --prefix");
  if (object !== undefined) return { key: object };
  return prefix === undefined ? undefined : { prefix };
}

type UpdateFlags = Several &
  ColumnFlags & {
    readonly name?: string;
    readonly file?: string;
    readonly addTable?: string[];
    readonly removeTable?: string[];
  };

function addUpdate(command: Command, shell: Shell): void {
  addSeveral(command.command("update [pipe]"))
    .description("Changes name, credentials, tables, columns, mappings or settings, by flags or the body of a file")
    .option("--name <name>", "New name, of one pipe")
    .option(
      "--add-table <schema.table[=target]>",
      "Table of a database to copy and follow too; may be repeated",
      repeated,
    )
    .option("--remove-table <schema.table>", "Table of a database to follow no more; may be repeated", repeated)
    .option("--column <name:type>", "Column to add, or its new type; of one pipe, may be repeated", repeated)
    .option("--map <field=column>", "Field of the source for a column; default: the field of its name", repeated)
    .option("--alter-table", "Changes the table too, where it lacks the columns or has other types")
    .option(
      "-f, --file <file>",
      "YAML or JSON with the members to change; references to secrets are replaced (help apply-file)",
    )
    .action(async (reference: string | undefined, flags: UpdateFlags) => {
      const body = await updateBody(shell, flags);
      if (flags.column !== undefined || flags.map !== undefined) {
        if (reference === undefined) throw usageError("--column and --map are for one pipe: name it");
        const { updateColumns } = await import("./pipe-new-columns.ts");
        const change = async (client: CliClient, params: PipeParams) => {
          const service = await client.call("getService", { params });
          // The table is looked at.
          if (service.state === "idle") await wakeService(shell, service, {});
          return await updateColumns(client, params, body ?? {}, flags);
        };
        return await changePipes(shell, reference, flags, change);
      }
      if (flags.alterTable === true) throw usageError("--alter-table is for --column");
      if (body === undefined) throw usageError("nothing to change", "Use --name, --column, --add-table or -f FILE.");
      if (reference === undefined && body.name !== undefined) throw usageError("a name is for one pipe: name the pipe");
      await changePipes(shell, reference, flags, async (client, params) => client.call("updatePipe", { params, body }));
    });
}

/** Undefined when nothing is to be changed. */
async function updateBody(shell: Shell, flags: UpdateFlags) {
  const given = flags.file === undefined ? {} : await (await import("../documents.ts")).readDocument(shell, flags.file);
  return orUndefined(
    present({
      ...given,
      name: flags.name ?? (given.name as string | undefined),
      source: await changedSource(given.source as Readonly<Record<string, object>> | undefined, flags),
    }),
  );
}

async function changedSource(
  source: Readonly<Record<string, object>> | undefined,
  { addTable, removeTable }: UpdateFlags,
) {
  if (addTable === undefined && removeTable === undefined) return source;
  const { tableMappingOf } = await import("./source-flags.ts");
  const kind = sourceKindKeys.find((key) => sourceDescriptions[key].listing.of === "tables") ?? "";
  const removed = removeTable?.map((table) => tableMappingOf("--remove-table", table));
  const tables = present({
    tableMappingsToAdd: addTable?.map((table) => tableMappingOf("--add-table", table)),
    tableMappingsToRemove: removed?.map(({ sourceSchemaName, sourceTable }) => ({ sourceSchemaName, sourceTable })),
  });
  return { ...source, [kind]: { ...source?.[kind], ...tables } };
}

const noPipe = "There is no pipe.";
type ScaleFlags = Several & Partial<Record<"replicas" | "concurrency" | "cpu" | "memory", string>>;

function addScale(command: Command, shell: Shell): void {
  addSeveral(command.command("scale [pipe]"))
    .description("Changes replicas, concurrency or the size of a replica")
    .option("--replicas <n>", "Number of worker processes")
    .option("--concurrency <n>", "Parallel work in each of them")
    .option("--cpu <millicores>", "CPU of a replica")
    .option("--memory <gb>", "Memory of a replica in GiB")
    .action(async (reference: string | undefined, flags: ScaleFlags) => {
      const body = orUndefined(
        present({
          replicas: integerFlag("--replicas", flags.replicas),
          concurrency: integerFlag("--concurrency", flags.concurrency),
          replicaCpuMillicores: integerFlag("--cpu", flags.cpu),
          replicaMemoryGb: flags.memory === undefined ? undefined : numberFlag("--memory", flags.memory),
        }),
      );
      if (body === undefined) throw usageError("nothing to change", "See --help for the flags.");
      await changePipes(shell, reference, flags, async (client, params) =>
        client.call("updatePipeScaling", { params, body }),
      );
    });
}

type PipeParams = { readonly serviceId: string; readonly pipeId: string };

/** Changes the pipes one after the other, and prints what they are then. */
async function changePipes(
  shell: Shell,
  reference: string | undefined,
  flags: Several,
  change: (client: CliClient, params: PipeParams) => Promise<unknown>,
): Promise<void> {
  const client = await shell.client();
  const pipes = await pipesOf(client, reference, flags);
  const changed = [];
  for (const { id: pipeId, serviceId } of pipes) changed.push(await change(client, { serviceId, pipeId }));
  const names = pipes.map(({ name }) => name).join(", ");
  await shell.printDone(reference === undefined ? changed : changed[0], names ? `changed ${names}` : noPipe);
}
