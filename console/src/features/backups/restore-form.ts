/** What a restore is asked to do: the address, the form, and the requests that it makes. */
import type { CallInput } from "../../api/client.ts";
import { oneOf, textsOf } from "../../lib/search.ts";
import { thisMachine } from "../../lib/this-machine.ts";
import type { Service } from "./backup.ts";

export type Scope = "service" | "database" | "table";
export type PipesChoice = "none" | "stopped" | "running";

/** In the address, so that a prepared restore can be sent to somebody who may begin it. */
export type RestoreSearch = { readonly [Name in keyof RestoreForm]?: RestoreForm[Name] | undefined };

export function restoreSearch(search: Record<string, unknown>): RestoreSearch {
  return {
    ...textsOf(search, "database", "table", "target", "targetDatabase", "targetTable", "name"),
    ...oneOf(search, "scope", ["database", "table"]),
    ...oneOf(search, "pipes", ["none", "running"]),
  };
}

export type Contents = readonly { readonly database: string; readonly table: string; readonly rows: number | null }[];

/** The form with what the address leaves open filled in. */
export type RestoreForm = {
  readonly scope: Scope;
  readonly database: string;
  readonly table: string;
  readonly target: string;
  readonly targetDatabase: string;
  readonly targetTable: string;
  readonly name: string;
  readonly pipes: PipesChoice;
};

/** `target`: the service of the backup, or the first that exists. */
export function formOf(
  search: RestoreSearch,
  contents: Contents,
  defaults: { target: string; name: string },
): RestoreForm {
  const databases = databasesOf(contents);
  const database = search.database ?? databases[0] ?? "";
  const tables = contents.filter((table) => table.database === database);
  const table = search.table ?? tables[0]?.table ?? "";
  const scope = search.scope ?? "service";
  return {
    scope,
    database,
    table,
    target: search.target ?? defaults.target,
    targetDatabase: search.targetDatabase ?? (scope === "database" ? `${database}_restored` : database),
    targetTable: search.targetTable ?? `${table}_restored`,
    name: search.name ?? defaults.name,
    pipes: search.pipes ?? "stopped",
  };
}

export function databasesOf(contents: Contents): string[] {
  return [...new Set(contents.map(({ database }) => database))].toSorted();
}

type PlanBody = CallInput<"planRestore">["body"];

/** The body that plans this restore. */
export function planBodyOf(form: RestoreForm, force: boolean): PlanBody {
  if (form.scope !== "service") return partBodyOf(form, force);
  return { restorePipes: form.pipes, ...(force ? { force } : {}) };
}

/** The body of `restoreBackup`. */
export function partBodyOf(form: RestoreForm, force: boolean): CallInput<"restoreBackup">["body"] {
  return {
    database: form.database,
    ...(form.scope === "table" ? { table: form.table, targetTable: form.targetTable } : {}),
    targetServiceId: form.target,
    targetDatabase: form.targetDatabase,
    ...(force ? { force } : {}),
  };
}

/** The body of `createService`. The access list is that of the service that was backed up, or this machine. */
export function newServiceBodyOf(
  form: RestoreForm,
  backupId: string,
  source: Pick<Service, "ipAccessList"> | undefined,
  force: boolean,
): CallInput<"createService">["body"] {
  return {
    name: form.name,
    backupId,
    restorePipes: form.pipes,
    ipAccessList: source?.ipAccessList ?? thisMachine,
    ...(force ? { force } : {}),
  };
}

/** Why the form cannot be planned yet; undefined if it can. */
export function incompleteness(form: RestoreForm): string | undefined {
  if (form.scope === "service") return form.name.trim() === "" ? "Name the new service." : undefined;
  if (form.database === "") return "The backup contains no tables.";
  if (form.target === "") return "There is no service that could receive the data; create one first.";
  if (form.targetDatabase.trim() === "") return "Name the database that receives the data.";
  if (form.scope === "table" && form.table === "") return "Choose a table.";
  if (form.scope === "table" && form.targetTable.trim() === "") return "Name the restored table.";
  return undefined;
}
