/** `millrace pipe create`, `validate` and `discover`: the body of a pipe from flags or a file. */
import type { Command } from "commander";
import type { CliClient, OperationResult } from "../client/client.ts";
import { resolveServiceOrOnly, type ServiceObject } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addWaitFlags, integerFlag, orUndefined, present, repeated } from "../flags.ts";
import { machineText } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import { settingsOf } from "./pipe-changes.ts";
import { type KindWord, kindWords } from "./pipe-view.ts";
import { awaitPipe } from "./pipe-wait.ts";
import { addSourceFlags, sourceFromFlags } from "./source-flags.ts";

type BodyFlags = {
  readonly service?: string;
  readonly file?: string;
  readonly to?: string;
  readonly column?: readonly string[];
  readonly map?: readonly string[];
  readonly engine?: string;
  readonly orderBy?: string;
  readonly partitionBy?: string;
  readonly existingTable?: boolean;
  readonly setting?: readonly string[];
  readonly replicas?: string;
} & Readonly<Record<string, unknown>>;

type Body = Readonly<Record<string, unknown>>;

const summaries: Readonly<Record<KindWord, string>> = {
  objects: "objects of a bucket",
  kafka: "topics of a Kafka-protocol broker",
  kinesis: "a Kinesis stream",
  postgres: "tables of a Postgres database",
};

/** Adds the verbs. */
export function addPipeCreate(command: Command, shell: Shell): void {
  const create = command
    .command("create [name]")
    .description("Creates and starts a pipe: `create KIND NAME` with flags, or `create NAME -f FILE`");
  addFileFlags(create);
  create.option("--dry-run", "Only shows the body that would be sent, with secrets masked");
  addWaitFlags(create, "first rows are loaded").action(
    async (name: string | undefined, flags: BodyFlags & WaitFlags) => {
      if (flags.file === undefined) throw usageError("name a kind (objects, kafka, kinesis, postgres), or use -f FILE");
      await createFrom(shell, undefined, name, flags);
    },
  );
  const discover = command.command("discover").description("Reads samples of a source and shows fields and types");
  addFileFlags(discover).action(async (flags: BodyFlags) => await discoverFrom(shell, undefined, flags));
  for (const kind of Object.keys(kindWords) as KindWord[]) {
    const one = create.command(`${kind} <name>`).description(`Creates a pipe from ${summaries[kind]}`);
    // Flags of `create` itself are found there, wherever they stand.
    addSourceFlags(addDestinationFlags(one, kind), kind).action(
      async (name: string, _: unknown, self: Command) =>
        await createFrom(shell, kind, name, self.optsWithGlobals() as BodyFlags & WaitFlags),
    );
    const fields = discover.command(kind).description(`Reads samples of ${summaries[kind]}`);
    addSourceFlags(fields, kind).action(
      async (_: unknown, self: Command) => await discoverFrom(shell, kind, self.optsWithGlobals() as BodyFlags),
    );
  }
}

function addFileFlags(command: Command): Command {
  return command
    .option(
      "-f, --file <file>",
      "YAML or JSON body of createPipe; references to secrets are replaced (help apply-file); - is stdin",
    )
    .option("--service <service>", "Service of the pipe; not needed if there is only one");
}

function addDestinationFlags(command: Command, kind: KindWord): Command {
  const common = command
    .option("--setting <name=value>", "Setting of the pipe; may be repeated", repeated)
    .option("--replicas <n>", "Number of worker processes");
  if (kind === "postgres") return common.option("--to <database>", "Database of the tables; default `default`");
  return common
    .requiredOption("--to <[database.]table>", "Destination table")
    .option("--column <name:type>", "Column; may be repeated; default: the fields of a sample", repeated)
    .option("--map <field=column>", "ShownField of the source and its column; may be repeated", repeated)
    .option("--engine <engine>", "MergeTree, ReplacingMergeTree, SummingMergeTree or Null")
    .option("--order-by <columns>", "Sorting key, separated by commas")
    .option("--partition-by <expression>", "Partition key")
    .option("--existing-table", "The table exists and stays as it is");
}

async function createFrom(
  shell: Shell,
  kind: KindWord | undefined,
  name: string | undefined,
  flags: BodyFlags & WaitFlags & { readonly dryRun?: boolean },
): Promise<void> {
  checkWait(flags);
  const given = await bodyOf(shell, kind, flags);
  const client = await shell.client();
  const service = await resolveServiceOrOnly(client, flags.service);
  const body = await withColumns(shell, client, service, { ...given, ...(name === undefined ? {} : { name }) });
  if (flags.dryRun === true) {
    const { masked } = await import("../secrets.ts");
    return await shell.write(await machineText(masked(body), shell.format === "json" ? "json" : "yaml"));
  }
  const params = { serviceId: service.id };
  const pipe = await client.call("createPipe", { params, body: body as never });
  shell.say(`created ${pipe.name} (${pipe.id}) in ${service.name}`);
  for (const { path, message } of pipe.warnings ?? []) shell.say(`warning: ${path}: ${message}`);
  const shown = await client.call("getPipe", { params: { ...params, pipeId: pipe.id } });
  const last = flags.wait === true ? await awaitPipe(shell, shown, "rows", flags) : shown;
  await shell.printDone(last, `${pipe.name}: ${last.state}, ${last.progress.sentRows ?? 0} rows`);
}

async function discoverFrom(shell: Shell, kind: KindWord | undefined, flags: BodyFlags): Promise<void> {
  if (kind === undefined && flags.file === undefined) throw usageError("name a kind, or use -f FILE");
  const { source } = await bodyOf(shell, kind, flags);
  const client = await shell.client();
  const service = await resolveServiceOrOnly(client, flags.service);
  const { fields } = await discovered(client, service, source);
  await shell.printList(
    fields,
    [
      { title: "FIELD", value: (field) => field.name },
      { title: "TYPE", value: ({ type }) => type },
      { title: "NULLABLE", value: ({ optional }) => (optional ? "yes" : "no") },
    ],
    "The samples have no fields.",
  );
}

type Discovered = OperationResult<"discoverSchema">;

async function discovered(client: CliClient, service: ServiceObject, source: unknown): Promise<Discovered> {
  const { validateSamples: _, ...known } = source as Record<string, unknown>;
  return await client.call("discoverSchema", { params: { serviceId: service.id }, body: { source: known } as never });
}

async function bodyOf(shell: Shell, kind: KindWord | undefined, flags: BodyFlags): Promise<Body> {
  if (kind === undefined) {
    const { readDocument } = await import("../documents.ts");
    const found = await readDocument(shell, String(flags.file));
    // A file of `apply` has the body in `spec`.
    return (found.kind === "Pipe" ? { name: found.name, ...(found.spec as object) } : found) as Body;
  }
  const source = { [kindWords[kind]]: await sourceFromFlags(shell, kind, flags) };
  return present({
    source,
    destination: destinationOf(kind, flags),
    fieldMappings: flags.map?.map((text) => mappingOf(text)),
    settings: flags.setting === undefined ? undefined : settingsOf(flags.setting),
    scaling: flags.replicas === undefined ? undefined : { replicas: integerFlag("--replicas", flags.replicas) },
  });
}

function destinationOf(kind: KindWord, flags: BodyFlags): Body {
  if (kind === "postgres") return present({ database: flags.to });
  const [first, second] = (flags.to ?? "").split(".", 2) as [string, string?];
  const [database, table] = second === undefined ? [undefined, first] : [first, second];
  const isManaged = flags.existingTable !== true;
  const tableDefinition = orUndefined(
    present({
      engine: flags.engine === undefined ? undefined : { type: flags.engine },
      sortingKey: flags.orderBy?.split(",").map((name) => name.trim()),
      partitionBy: flags.partitionBy,
    }),
  );
  return present({ database, table, managedTable: isManaged, tableDefinition, columns: flags.column?.map(columnOf) });
}

function columnOf(text: string): { name: string; type: string } {
  const at = text.indexOf(":");
  if (at < 1) throw usageError(`--column ${text}: must be name:type`);
  return { name: text.slice(0, at), type: text.slice(at + 1) };
}

function mappingOf(text: string): { sourceField: string; destinationField: string } {
  const at = text.lastIndexOf("=");
  if (at < 1) throw usageError(`--map ${text}: must be field=column`);
  return { sourceField: text.slice(0, at), destinationField: text.slice(at + 1) };
}

/** A new table without columns gets the fields of a sample. */
async function withColumns(shell: Shell, client: CliClient, service: ServiceObject, body: Body): Promise<Body> {
  const source = body.source as Record<string, unknown> | undefined;
  const destination = body.destination as Record<string, unknown> | undefined;
  const isNew = destination?.managedTable !== false && source?.relationalDb === undefined;
  if (!isNew || source === undefined || destination === undefined || destination.columns != null) return body;
  const { fields } = await discovered(client, service, source);
  const columns = fields.map(({ name, type }) => ({ name, type }));
  shell.say(`columns of a sample: ${columns.map(({ name, type }) => `${name} ${type}`).join(", ")}`);
  const fieldMappings =
    body.fieldMappings ?? columns.map(({ name }) => ({ sourceField: name, destinationField: name }));
  return { ...body, destination: { ...destination, columns }, fieldMappings };
}
