/** `millrace source`: the sources of charts. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { pick, resolveServiceOrOnly } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { addYesFlag, choiceFlag, present } from "../flags.ts";
import { age } from "../output/text.ts";
import type { Shell } from "../shell.ts";

export type ListedSource = OperationResult<"listSources">["data"][number];

/** The source with this name, id or unique prefix. */
export async function findSource(shell: Shell, reference: string): Promise<ListedSource> {
  return pick("source", reference, (await shell.call("listSources", {})).data);
}

const kinds = ["log", "trace", "metric", "table"] as const;

type CreateFlags = {
  readonly service?: string;
  readonly table?: string;
  readonly time?: string;
  readonly kind?: string;
  readonly file?: string;
};

/** Adds the verbs of `source`. */
export function addSource(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists the sources of charts")
    .action(async () => {
      const { data } = await shell.call("listSources", {});
      await shell.printList(
        data,
        [
          { title: "NAME", value: ({ name }) => name },
          { title: "KIND", value: ({ kind }) => kind },
          { title: "TABLE", value: ({ from }) => `${from.databaseName}.${from.tableName}` },
          { title: "TIME", value: ({ timestampValueExpression }) => timestampValueExpression },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
          { title: "ID", value: ({ id }) => id },
        ],
        "There is no source. millrace source create NAME --table db.table --time COLUMN",
      );
    });
  command
    .command("get <source>")
    .description("Shows a source")
    .action(async (reference: string) => {
      const source = await findSource(shell, reference);
      const shown = Object.entries(source).map(([name, value]) => [name, bodyText(value)] as const);
      await shell.printOne(source, shown);
    });
  command
    .command("suggest [service]")
    .description("Suggests sources for tables with a time; -o yaml writes bodies for source create -f")
    .option("--no-wake", "Fails instead of waking a sleeping service")
    .action(async (reference: string | undefined, flags: { wake: boolean }) => await suggest(shell, reference, flags));
  command
    .command("create [name]")
    .description("Creates a source of charts for a table")
    .option("--service <service>", "Service of the table; not needed if there is only one")
    .option("--table <database.table>", "Table that is read")
    .option("--time <expression>", "Column with the time of a row")
    .option("--kind <kind>", "log, trace, metric or table; default table")
    .option("-f, --file <file>", "YAML or JSON body of createSource; - is stdin")
    .action(async (name: string | undefined, flags: CreateFlags) => await create(shell, name, flags));
  addYesFlag(command.command("delete <source>"))
    .description("Deletes a source; the table stays")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const { id, name } = await findSource(shell, reference);
      await shell.confirm(`Source ${name} will be deleted.`, { ...flags, word: name });
      await shell.call("deleteSource", { params: { id } });
      shell.say(`deleted ${name}`);
    });
}

async function suggest(shell: Shell, reference: string | undefined, flags: { wake: boolean }): Promise<void> {
  const client = await shell.client();
  const { id: serviceId, name } = await resolveServiceOrOnly(client, reference);
  const query = { serviceId, ...(flags.wake ? {} : { wake: "never" as const }) };
  const { data } = await client.call("suggestSources", { query });
  await shell.printList(
    data,
    [
      { title: "NAME", value: (source) => source.name },
      { title: "KIND", value: ({ kind }) => kind },
      { title: "TABLE", value: ({ from }) => `${from.databaseName}.${from.tableName}` },
      { title: "TIME", value: ({ timestampValueExpression }) => timestampValueExpression },
    ],
    `Every table of ${name} with a time has a source.`,
  );
}

function bodyText(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

async function create(shell: Shell, name: string | undefined, flags: CreateFlags): Promise<void> {
  const client = await shell.client();
  const given = flags.file === undefined ? undefined : await fileBody(shell, flags.file);
  if (given === undefined && (name === undefined || flags.table === undefined || flags.time === undefined)) {
    throw usageError("a source needs a name, --table and --time, or -f FILE");
  }
  const [databaseName, tableName] = tableOf(flags.table);
  const kind = choiceFlag("--kind", flags.kind, kinds);
  const isNamed = given?.serviceId !== undefined && flags.service === undefined;
  const serviceId = isNamed ? String(given?.serviceId) : (await resolveServiceOrOnly(client, flags.service)).id;
  const body = {
    ...given,
    ...present({
      name,
      kind: kind ?? given?.kind ?? "table",
      serviceId,
      from: tableName === undefined ? undefined : { databaseName, tableName },
      timestampValueExpression: flags.time,
    }),
  };
  const { data } = await client.call("createSource", { body: body as never });
  await shell.printDone(data, `created ${data.name} (${data.id})`);
}

async function fileBody(shell: Shell, file: string): Promise<Record<string, unknown>> {
  const { readDocument } = await import("../documents.ts");
  return await readDocument(shell, file);
}

function tableOf(table: string | undefined): [database: string, table: string | undefined] {
  const at = table?.indexOf(".") ?? -1;
  return table === undefined || at < 0 ? ["default", table] : [table.slice(0, at), table.slice(at + 1)];
}
