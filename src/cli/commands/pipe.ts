/** `millrace pipe`. */
import type { Command } from "commander";
import { findPipe, findService, listPipesOf, type PipeObject } from "../client/resolve.ts";
import { repeated } from "../flags.ts";
import type { Column } from "../output/table.ts";
import { age, byteSize, count, stateStyle } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { addPipeChanges } from "./pipe-changes.ts";
import { addPipeCreate } from "./pipe-create.ts";
import { destinationText, kindOfPipe, sourceText } from "./pipe-view.ts";

const columns: readonly Column<PipeObject>[] = [
  { title: "NAME", value: ({ name }) => name },
  { title: "SERVICE", value: ({ serviceName }) => serviceName },
  { title: "KIND", value: kindOfPipe },
  { title: "SOURCE", value: sourceText, wide: true },
  { title: "TABLE", value: destinationText },
  { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
  { title: "ROWS", value: ({ progress }) => count(progress.sentRows), right: true },
  { title: "BYTES", value: ({ progress }) => byteSize(progress.sentBytes), right: true, wide: true },
  { title: "ERRORS", value: ({ progress }) => count(progress.errors), right: true },
  { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
  { title: "ID", value: ({ id }) => id, wide: true },
  { title: "LAST ERROR", value: ({ lastError }) => lastError },
];

type ListFlags = {
  readonly service?: string;
  readonly state?: readonly string[];
  readonly kind?: string;
  readonly watch?: boolean;
};

/** Adds the verbs of `pipe`. */
export function addPipe(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists pipes with state, rows and last error")
    .option("--service <service>", "Only pipes of this service")
    .option("--state <state>", "Only pipes in this state; may be repeated", repeated)
    .option("--kind <kind>", "Only objects, kafka, kinesis or postgres")
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
}

async function list(shell: Shell, flags: ListFlags): Promise<void> {
  const once = async () => await listed(shell, flags);
  if (flags.watch !== true) return await shell.printList(await once(), columns, "There is no pipe.");
  const { watch } = await import("../watch.ts");
  await watch(shell, once, columns, "There is no pipe.");
}

async function listed(shell: Shell, flags: ListFlags): Promise<PipeObject[]> {
  const client = await shell.client();
  const services =
    flags.service === undefined ? await client.call("listServices", {}) : [await findService(client, flags.service)];
  const pipes = await listPipesOf(client, services);
  return pipes.filter(
    (pipe) =>
      (flags.state?.includes(pipe.state) ?? true) && (flags.kind === undefined || kindOfPipe(pipe) === flags.kind),
  );
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
    ["source", `${kindOfPipe(pipe)} ${sourceText(pipe)}`],
    ["source warning", pipe.sourceWarning],
    ["table", destinationText(pipe)],
    ["rows", count(pipe.progress.sentRows ?? 0)],
    ["bytes", byteSize(pipe.progress.sentBytes ?? 0)],
    ["errors", count(pipe.progress.errors ?? 0)],
    ...gauges.map(([name, value]) => [name, value] as const),
    ["created", pipe.createdAt],
  ]);
}
