/** `millrace pipe create`, `validate` and `discover`. */
import type { Command } from "commander";
import { kindKeyOf, type SourceKindKey, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import type { OperationResult } from "../client/client.ts";
import { resolveServiceOrOnly } from "../client/resolve.ts";
import { CliError, issueText, usageError } from "../errors.ts";
import { addWaitFlags } from "../flags.ts";
import { machineText } from "../output/format.ts";
import type { TableColumn } from "../output/table.ts";
import { byteSize, count } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import { addDestinationFlags, addFileFlags, type BodyFlags, discovered, pipeBodyOf, withColumns } from "./pipe-body.ts";
import { kindWords } from "./pipe-view.ts";
import { awaitPipe } from "./pipe-wait.ts";
import { wakeService } from "./service-state.ts";
import { addSourceFlags } from "./source-flags.ts";

/** Adds the verbs. */
export function addPipeCreate(command: Command, shell: Shell): void {
  const create = command
    .command("create [name]")
    .description("Creates and starts a pipe: `create KIND NAME` with flags, or `create NAME -f FILE`");
  addFileFlags(create);
  create.option("--start-paused", "The pipe reads nothing before `pipe start`");
  create.option("--dry-run", "Only shows the request that would be sent, with secrets masked");
  addWaitFlags(create, "first rows are loaded, or can be sent").action(
    async (name: string | undefined, flags: BodyFlags & WaitFlags) => {
      if (flags.file === undefined)
        throw usageError(`name a kind (${Object.keys(kindWords).join(", ")}), or use -f FILE`);
      await createFrom(shell, undefined, name, flags);
    },
  );
  const discover = command.command("discover").description("Reads samples of a source and shows fields and types");
  addFileFlags(discover).action(async (flags: BodyFlags) => await discoverFrom(shell, undefined, flags));
  const validate = command
    .command("validate")
    .description(
      "Makes every check of `pipe create` without creating anything: `validate KIND` with flags, or -f FILE",
    );
  addFileFlags(validate).action(async (flags: BodyFlags) => await validateFrom(shell, undefined, flags));
  for (const [word, kind] of Object.entries(kindWords)) {
    const { reads, listing } = sourceDescriptions[kind];
    const checked = validate.command(word).description(`Checks a pipe from ${reads}`);
    addSourceFlags(addDestinationFlags(checked, kind), kind).action(
      async (_: unknown, self: Command) => await validateFrom(shell, kind, self.optsWithGlobals() as BodyFlags),
    );
    const one = create.command(`${word} <name>`).description(`Creates a pipe from ${reads}`);
    // Flags of `create` itself are found there, wherever they stand.
    addSourceFlags(addDestinationFlags(one, kind), kind).action(
      async (name: string, _: unknown, self: Command) =>
        await createFrom(shell, kind, name, self.optsWithGlobals() as BodyFlags & WaitFlags),
    );
    if (listing.of === "nothing") continue;
    const shows = listing.of === "tables" ? "Lists the" : "Reads samples of";
    const fields = discover.command(word).description(`${shows} ${reads}`);
    addSourceFlags(fields, kind).action(
      async (_: unknown, self: Command) => await discoverFrom(shell, kind, self.optsWithGlobals() as BodyFlags),
    );
  }
}

type ListedTable = NonNullable<OperationResult<"listSource">["tables"]>[number];

async function createFrom(
  shell: Shell,
  kind: SourceKindKey | undefined,
  name: string | undefined,
  flags: BodyFlags & WaitFlags & { readonly dryRun?: boolean; readonly startPaused?: boolean },
): Promise<void> {
  checkWait(flags);
  if (flags.startPaused === true && flags.wait === true) {
    throw usageError("a pipe that starts paused loads no rows to wait for", "Leave out --wait or --start-paused.");
  }
  const given = await pipeBodyOf(shell, kind, flags);
  const client = await shell.client();
  const service = await resolveServiceOrOnly(client, flags.service);
  if (flags.dryRun !== true) await wakeService(shell, service, flags);
  const paused = flags.startPaused === true ? { startPaused: true } : {};
  const body = await withColumns(shell, client, service, {
    ...given,
    ...(name === undefined ? {} : { name }),
    ...paused,
  });
  const params = { serviceId: service.id };
  if (flags.dryRun === true) {
    const { masked } = await import("../secrets.ts");
    const request = masked(await client.request("createPipe", { params, body }));
    return await shell.write(await machineText(request, shell.format === "json" ? "json" : "yaml"));
  }
  const pipe = await client.call("createPipe", { params, body: body as never });
  shell.say(`created ${pipe.name} (${pipe.id}) in ${service.name}`);
  for (const { path, message } of pipe.warnings ?? []) shell.say(`warning: ${path}: ${message}`);
  const shown = await client.call("getPipe", { params: { ...params, pipeId: pipe.id } });
  // Rows are sent to a pipe that runs.
  const made = kindKeyOf(shown.source);
  const target = made !== undefined && sourceDescriptions[made].hasInbox === true ? "running" : "rows";
  const last = flags.wait === true ? await awaitPipe(shell, shown, target, flags) : shown;
  await shell.printDone(last, `${pipe.name}: ${last.state}, ${last.progress.sentRows ?? 0} rows`);
}

const tableColumns: readonly TableColumn<ListedTable>[] = [
  { title: "TABLE", value: ({ schema, name }) => `${schema}.${name}` },
  { title: "ROWS", value: ({ estimatedRows }) => count(estimatedRows), right: true },
  { title: "SIZE", value: ({ bytes }) => byteSize(bytes), right: true },
  { title: "KEY", value: ({ primaryKey }) => primaryKey.join(", ") },
  { title: "COLUMNS", value: ({ columns }) => count(columns.length), right: true },
  { title: "READABLE", value: ({ isReadable }) => (isReadable ? "yes" : "no") },
];

async function discoverFrom(shell: Shell, kind: SourceKindKey | undefined, flags: BodyFlags): Promise<void> {
  if (kind === undefined && flags.file === undefined) throw usageError("name a kind, or use -f FILE");
  const { source } = await pipeBodyOf(shell, kind, flags);
  const client = await shell.client();
  const service = await resolveServiceOrOnly(client, flags.service);
  const key = kindKeyOf(source as never);
  if (key !== undefined && sourceDescriptions[key]?.listing.of === "tables") {
    const body = { source, limit: 1_000 } as never;
    const { tables = [] } = await client.call("listSource", { params: { serviceId: service.id }, body });
    return await shell.printList(tables, tableColumns, "The user may see no tables.");
  }
  await wakeService(shell, service, {});
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

/** Each check in its order; exit code 1 when one has failed. */
async function validateFrom(shell: Shell, kind: SourceKindKey | undefined, flags: BodyFlags): Promise<void> {
  if (kind === undefined && flags.file === undefined) throw usageError("name a kind, or use -f FILE");
  const given = await pipeBodyOf(shell, kind, flags);
  const client = await shell.client();
  const service = await resolveServiceOrOnly(client, flags.service);
  // One that is stopped is among the checks.
  if (service.state === "idle") await wakeService(shell, service, {});
  const body = await withColumns(shell, client, service, { name: "validated", ...given });
  const { checks } = await client.call("validatePipe", { params: { serviceId: service.id }, body: body as never });
  await shell.printList(
    checks,
    [
      { title: "", value: ({ ok }) => (ok ? "ok" : "fail") },
      { title: "CHECK", value: ({ name }) => name },
      { title: "TIME", value: ({ ms }) => `${Math.round(ms)} ms` },
      { title: "ISSUE", value: ({ issues }) => issues?.map(issueText).join("; ") },
      { title: "REMEDY", value: ({ remedy }) => remedy },
    ],
    "There was nothing to check.",
  );
  const failed = checks.filter(({ ok }) => !ok).length;
  if (failed > 0) throw new CliError(`${failed} of ${checks.length} checks failed`, { code: "INVALID" });
}
