/** The body of a new pipe, from flags or from a file: for `pipe create`, `validate` and `discover`. */
import type { Command } from "commander";
import type { SourceDescription } from "../../sources/contract/description.ts";
import { kindKeyOf, type SourceKindKey, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import { holds, memberAt } from "../../sources/contract/fields.ts";
import type { CliClient, OperationResult } from "../client/client.ts";
import type { ServiceObject } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { integerFlag, orUndefined, present, repeated } from "../flags.ts";
import type { Shell } from "../shell.ts";
import { settingsOf } from "./pipe-settings.ts";
import { sourceFromFlags } from "./source-flags.ts";

export type BodyFlags = {
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

/** Flags that name the body and its service. */
export function addFileFlags(command: Command): Command {
  return command
    .option(
      "-f, --file <file>",
      "YAML or JSON body of createPipe; references to secrets are replaced (help apply-file); - is stdin",
    )
    .option("--service <service>", "Service of the pipe; not needed if there is only one");
}

export function addDestinationFlags(command: Command, kind: SourceKindKey): Command {
  const common = command
    .option("--setting <name=value>", "Setting of the pipe; may be repeated", repeated)
    .option("--replicas <n>", "Number of worker processes");
  const { ownsTables } = sourceDescriptions[kind] as SourceDescription;
  if (ownsTables?.length === 0) return common.option("--to <database>", "Database of the tables; default `default`");
  const orDatabase = ownsTables === undefined ? "" : ", or the database where the pipe creates its tables";
  return common
    .requiredOption("--to <[database.]table>", `Destination table${orDatabase}`)
    .option("--column <name:type>", "Column; may be repeated; default: the fields of a sample", repeated)
    .option("--map <field=column>", "Field of the source and its column; may be repeated", repeated)
    .option("--engine <engine>", "MergeTree, ReplacingMergeTree, SummingMergeTree or Null")
    .option("--order-by <columns>", "Sorting key, separated by commas")
    .option("--partition-by <expression>", "Partition key")
    .option("--existing-table", "The table exists and stays as it is");
}

/** Secrets are read from the files and variables that the flags name. */
export async function pipeBodyOf(shell: Shell, kind: SourceKindKey | undefined, flags: BodyFlags): Promise<Body> {
  if (kind === undefined) {
    const { readDocument } = await import("../documents.ts");
    const found = await readDocument(shell, String(flags.file));
    // A file of `apply` has the body in `spec`.
    return (found.kind === "Pipe" ? { name: found.name, ...(found.spec as object) } : found) as Body;
  }
  const source = { [kind]: await sourceFromFlags(shell, kind, flags) };
  return present({
    source,
    destination: destinationOf(source, kind, flags),
    fieldMappings: flags.map?.map((text) => mappingOf(text)),
    settings: flags.setting === undefined ? undefined : settingsOf(flags.setting),
    scaling: flags.replicas === undefined ? undefined : { replicas: integerFlag("--replicas", flags.replicas) },
  });
}

/** The pipe names no table, because the tables come with their names and columns. */
function ownsTables(kind: SourceKindKey, source: Record<string, unknown>): boolean {
  const { ownsTables: when } = sourceDescriptions[kind] as SourceDescription;
  const config = (source[kind] ?? {}) as Record<string, unknown>;
  return when !== undefined && holds(when, (path) => memberAt(config, path));
}

function destinationOf(source: Record<string, unknown>, kind: SourceKindKey, flags: BodyFlags): Body {
  if (ownsTables(kind, source)) return present({ database: flags.to });
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

export function columnOf(text: string): { name: string; type: string } {
  const at = text.indexOf(":");
  if (at < 1) throw usageError(`--column ${text}: must be name:type`);
  return { name: text.slice(0, at), type: text.slice(at + 1) };
}

export function mappingOf(text: string): { sourceField: string; destinationField: string } {
  const at = text.lastIndexOf("=");
  if (at < 1) throw usageError(`--map ${text}: must be field=column`);
  return { sourceField: text.slice(0, at), destinationField: text.slice(at + 1) };
}

/** A new table without columns gets the fields of a sample. */
export async function withColumns(shell: Shell, client: CliClient, service: ServiceObject, body: Body): Promise<Body> {
  const source = body.source as Record<string, unknown> | undefined;
  const destination = body.destination as Record<string, unknown> | undefined;
  if (source === undefined || destination === undefined || destination.columns != null) return body;
  const kind = kindKeyOf(source);
  if (destination.managedTable === false || (kind !== undefined && ownsTables(kind, source))) return body;
  const { fields } = await discovered(client, service, source);
  const columns = fields.map(({ name, type }) => ({ name, type }));
  shell.say(`columns of a sample: ${columns.map(({ name, type }) => `${name} ${type}`).join(", ")}`);
  const fieldMappings =
    body.fieldMappings ?? columns.map(({ name }) => ({ sourceField: name, destinationField: name }));
  return { ...body, destination: { ...destination, columns }, fieldMappings };
}

type Discovered = OperationResult<"discoverSchema">;

/** The fields of samples of a source. */
export async function discovered(client: CliClient, service: ServiceObject, source: unknown): Promise<Discovered> {
  const { validateSamples: _, ...known } = source as Record<string, unknown>;
  return await client.call("discoverSchema", { params: { serviceId: service.id }, body: { source: known } as never });
}
