/** `millrace pipe`. */
import type { Command } from "commander";
import { kindKeyOf } from "../../sources/contract/descriptions.ts";
import { findPipe, listSummaries, type PipeObject, type PipeSummary, resolveService } from "../client/resolve.ts";
import { choiceFlag, present, repeated } from "../flags.ts";
import { byteSize, count, stateStyle } from "../output/text.ts";
import { addSelectorFlag, selectPipes } from "../selector.ts";
import type { Shell } from "../shell.ts";
import { addPipeEvents } from "./events.ts";
import { addPipeChanges } from "./pipe-changes.ts";
import { pipeColumns } from "./pipe-columns.ts";
import { addPipeCreate } from "./pipe-create.ts";
import { addPipeErrors } from "./pipe-errors.ts";
import { destinationText, kindWords, sourceText, wordOf } from "./pipe-view.ts";

type PipeTable = NonNullable<PipeObject["tables"]>[number];

type ListFlags = {
  readonly service?: string;
  readonly selector?: string;
  readonly state?: readonly string[];
  readonly kind?: string;
  readonly sort?: string;
  readonly watch?: boolean;
};

/** Adds the verbs of `pipe`. */
export function addPipe(command: Command, shell: Shell): void {
  addSelectorFlag(command.command("list"), "Only pipes of services with these tags")
    .description("Lists pipes with state, rows and last error")
    .option("--service <service>", "Only pipes of this service")
    .option("--state <state>", "Only pipes in this state; may be repeated", repeated)
    .option("--kind <kind>", `Only one of ${Object.keys(kindWords).join(", ")}`)
    .option("--sort <key>", "name (default), createdAt, service, state, stateChangedAt, lag or rowsPerSecond")
    .option("-w, --watch", "Repeats every 2 seconds until Ctrl-C")
    .action(async (flags: ListFlags) => await list(shell, flags));
  command
    .command("get <pipe>")
    .description("Shows a pipe with its progress")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: pipeId, serviceId, serviceName } = await findPipe(client, reference);
      const pipe = await client.call("getPipe", { params: { serviceId, pipeId } });
      await printPipe(shell, { ...pipe, serviceName });
    });
  addPipeCreate(command, shell);
  addPipeChanges(command, shell);
  addPipeErrors(command, shell);
  addPipeEvents(command, shell);
}

async function list(shell: Shell, flags: ListFlags): Promise<void> {
  const read = async () => await listed(shell, flags);
  const print = async (pipes: readonly PipeSummary[]) => await shell.printList(pipes, pipeColumns, "There is no pipe.");
  if (flags.watch !== true) return await print(await read());
  const { watch } = await import("../watch.ts");
  await watch(shell, read, print);
}

/** Sorted lists begin with what is furthest behind or fastest. */
const descending = ["lag", "rowsPerSecond", "stateChangedAt"];

async function listed(shell: Shell, flags: ListFlags): Promise<PipeSummary[]> {
  const client = await shell.client();
  const service = flags.service === undefined ? undefined : await resolveService(client, flags.service);
  const word = choiceFlag("--kind", flags.kind, Object.keys(kindWords));
  const kind = word === undefined ? undefined : kindWords[word];
  const sort = flags.sort ?? "name";
  const order = descending.includes(sort) ? "desc" : "asc";
  const filter = present({ state: flags.state, kind, serviceId: service?.id });
  if (flags.selector !== undefined) return await selectPipes(client, flags.selector, filter, { sort, order });
  return await listSummaries(client, filter, { sort, order });
}

/** Shows one pipe; its gauges as fields with their own names. */
export async function printPipe(shell: Shell, pipe: PipeObject): Promise<void> {
  const { serviceName, ...record } = pipe;
  const named = new Set(["sentRows", "sentBytes", "errors"]);
  const gauges = Object.entries(pipe.progress).filter(([name]) => !named.has(name));
  await shell.printOne(record, [
    ["name", pipe.name, "bold"],
    ["id", pipe.id],
    ["service", serviceName],
    ["state", pipe.state, stateStyle(pipe.state)],
    ["last error", pipe.lastError],
    ["source", `${wordOf(kindKeyOf(pipe.source))} ${sourceText(pipe)}`],
    ["source warning", pipe.sourceWarning],
    ["table", destinationText(pipe)],
    ["rows", count(pipe.progress.sentRows ?? 0)],
    ["bytes", byteSize(pipe.progress.sentBytes ?? 0)],
    ["errors", count(pipe.progress.errors ?? 0)],
    ...gauges.map(([name, value]) => [name, value] as const),
    ...(pipe.tables ?? []).map((table) => [`table ${table.sourceTable}`, tableText(table)] as const),
    ["created", pipe.createdAt],
  ]);
}

/** The state of one of several tables, and of a stopped one why, since when, and what helps. */
export function tableText(table: PipeTable): string {
  if (table.state !== "Stopped") return `${table.state}, ${count(table.rows)} rows`;
  const since = table.stoppedAt === undefined ? "" : ` since ${table.stoppedAt}`;
  const texts = [
    `${table.state}${since}, ${count(table.rows)} rows: ${table.reason ?? "unknown reason"}.`,
    table.remedy,
  ];
  return texts.filter((text) => text !== undefined).join(" ");
}
