/** An edited configuration: what the form holds, and what a request must send for it. */
import type { SourceDescription } from "../../../../src/sources/contract/description.ts";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { type Condition, holds, memberAt, type SourceField } from "../../../../src/sources/contract/fields.ts";
import { wordsAt } from "../../lib/format.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import type { PipeKind } from "./list-search.ts";
import { kindOf, type PipeDetails } from "./use-pipe.ts";

/** Texts of the inputs, by path: `name`, `source.brokers`, `settings.…`, `scaling.…`. */
export type Draft = Readonly<Record<string, string>>;

export type Difference = { readonly path: string; readonly from: unknown; readonly to: unknown };

export const scalingFields = {
  replicas: "Replicas",
  concurrency: "Concurrency",
  replicaCpuMillicores: "CPU of a replica, in thousandths of a core",
  replicaMemoryGb: "Memory of a replica, in GiB",
} as const;

/** The label of the input with this path, as in the wizard where that asks for it. */
export function labelOf(kind: PipeKind, path: string): string {
  const [group, ...rest] = path.split(".");
  const name = rest.join(".");
  if (group === "settings") return settingFields[name as SettingName].label;
  if (group === "scaling") return scalingFields[name as keyof typeof scalingFields];
  return fieldAt(kind, path)?.label ?? wordsAt(path);
}

/** What the kind says of the member of its source with this path; of some it says nothing. */
export function fieldAt(kind: PipeKind, path: string): SourceField | undefined {
  const fields: readonly SourceField[] = sourceDescriptions[kind].fields;
  return fields.find((field) => `source.${field.path}` === path);
}

/** Members of the source that can change, without those that hold secrets. An object has an input for each member. */
export function mutableMembers(pipe: PipeDetails): readonly string[] {
  const { mutable, secrets, fields } = sourceDescriptions[kindOf(pipe)];
  return mutable
    .filter((member) => !secrets.includes(member))
    .flatMap((member) => {
      const inner = fields.map(({ path }) => path).filter((path) => path.startsWith(`${member}.`));
      return inner.length === 0 ? member : inner.filter((path) => !secrets.includes(path));
    });
}

/** Whether the source has a use for this member, as it is or as the draft changes it. */
export function isUsed(pipe: PipeDetails, path: string, draft: Draft = {}): boolean {
  const source = pipe.source[kindOf(pipe)] ?? {};
  return holds(
    fieldAt(kindOf(pipe), `source.${path}`)?.when,
    (other) => draft[`source.${other}`] ?? memberAt(source, other),
  );
}

/** Whether the form has an input for this member. What is there without a use is shown too. */
export function isShown(pipe: PipeDetails, path: string, draft: Draft): boolean {
  const kind = kindOf(pipe);
  if (sourceDescriptions[kind].logins.some(({ members }) => members.includes(path)))
    return newLoginFields(pipe, draft).some((field) => field.path === path);
  return isUsed(pipe, path, draft) || (memberAt(pipe.source[kind] ?? {}, path) != null && !isUsed(pipe, path));
}

/** The members of the login that the pipe has, as far as they can be changed. None: it logs in with nothing. */
export function loginFields(pipe: PipeDetails, draft: Draft = {}): readonly SourceField[] {
  const kind = kindOf(pipe);
  const { mutable } = sourceDescriptions[kind];
  return (loginOf(pipe, draft)?.members ?? []).flatMap((member) =>
    mutable.includes(member.split(".")[0] ?? "") ? (fieldAt(kind, `source.${member}`) ?? []) : [],
  );
}

/** The same of the login that the draft chooses. None: it is the present one. */
export function newLoginFields(pipe: PipeDetails, draft: Draft): readonly SourceField[] {
  const source = pipe.source[kindOf(pipe)] ?? {};
  const when: readonly Condition[] = loginOf(pipe, draft)?.when ?? [];
  const isChosen = when.some(({ path }) => {
    const present = textOf(memberAt(source, path));
    return (draft[`source.${path}`] ?? present) !== present;
  });
  return isChosen ? loginFields(pipe, draft) : [];
}

function loginOf(pipe: PipeDetails, draft: Draft) {
  const kind = kindOf(pipe);
  return sourceDescriptions[kind].logins.find(({ when }) =>
    holds(when, (path) => draft[`source.${path}`] ?? memberAt(pipe.source[kind] ?? {}, path)),
  );
}

export function draftOf(pipe: PipeDetails): Draft {
  const kind = kindOf(pipe);
  const source = (pipe.source[kind] ?? {}) as Record<string, unknown>;
  return Object.fromEntries([
    ["name", pipe.name],
    ...(pipe.fieldMappings.length === 0 ? [] : [["columns", columnsText(pipe)]]),
    ...mutableMembers(pipe).map((member) => {
      const [path, value] = [`source.${member}`, memberAt(source, member)];
      const input = fieldAt(kind, path)?.input;
      if (input === "tables") return [path, tablesOf(pipe).map(tableLine).join("\n")];
      return [path, input === "switch" && value !== true ? "" : textOf(value)];
    }),
    ...settingsOf(kind).map((name) => [`settings.${name}`, textOf(pipe.settings[name])]),
    ...Object.keys(scalingFields).map((name) => [`scaling.${name}`, textOf((pipe.scaling as never)[name])]),
  ]);
}

/** What differs, as the API names it. A member whose use ends with another change goes with it. */
export function differencesOf(pipe: PipeDetails, draft: Draft): Difference[] {
  const before = draftOf(pipe);
  const textAt = (path: string) => {
    const member = path.startsWith("source.") ? path.slice("source.".length) : "";
    if (member === "" || isShown(pipe, member, draft)) return draft[path];
    return isUsed(pipe, member) ? "" : before[path];
  };
  return Object.keys(draft).flatMap((path) => {
    const [from = "", to = ""] = [before[path], textAt(path)];
    if (from === to) return [];
    return { path, from: parsedText(kindOf(pipe), path, from), to: parsedText(kindOf(pipe), path, to) };
  });
}

/** The bodies of the requests that make these differences. Undefined: nothing of that kind changes. */
export function requestsOf(pipe: PipeDetails, differences: readonly Difference[]) {
  const below = (prefix: string) => differences.filter(({ path }) => path.startsWith(prefix));
  const name = differences.find(({ path }) => path === "name")?.to;
  const isTables = (path: string) => fieldAt(kindOf(pipe), path)?.input === "tables";
  const source = nested(
    below("source.").map((one) => (isTables(one.path) ? { ...one, to: mappingsOf(String(one.to ?? ""), pipe) } : one)),
    "source.",
    wholeObjects(pipe),
  );
  const settings = nested(below("settings."), "settings.");
  const scaling = nested(below("scaling."), "scaling.");
  const columns = differences.find(({ path }) => path === "columns");
  const patch = {
    ...(columns === undefined ? {} : columnsOf(String(columns.to ?? ""), pipe)),
    ...(name === undefined ? {} : { name }),
    ...(source === undefined ? {} : { source: { [kindOf(pipe)]: source } }),
    ...(settings === undefined ? {} : { settings }),
  };
  return { patch: Object.keys(patch).length === 0 ? undefined : patch, scaling };
}

/** A line for each column: `field = column Type`. */
function columnsText({ fieldMappings, destination }: PipeDetails): string {
  const types = new Map((destination.columns ?? []).map(({ name, type }) => [name, type]));
  return fieldMappings
    .map(({ sourceField, destinationField: to }) => `${sourceField} = ${to} ${types.get(to) ?? ""}`.trim())
    .join("\n");
}

/** The members of a request for such lines. Columns without a type are those that the table has. */
export function columnsOf(text: string, pipe: PipeDetails) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const parsed = lines.map((line) => {
    const [, field = line.trim(), column = "", type = ""] = /^\s*(.+?)\s*=\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? [];
    return { field, column: column || field, type };
  });
  const typed = parsed.filter(({ type }) => type !== "");
  return {
    fieldMappings: parsed.map(({ field, column }) => ({ sourceField: field, destinationField: column })),
    ...((pipe.destination.columns ?? []).length === 0 && typed.length === 0
      ? {}
      : { destination: { columns: typed.map(({ column, type }) => ({ name: column, type })) } }),
  };
}

type TableMapping = Readonly<Record<"sourceSchemaName" | "sourceTable" | "targetTable", string>>;

function tablesOf(pipe: PipeDetails): readonly TableMapping[] {
  const kind = kindOf(pipe);
  const member = sourceDescriptions[kind].listing.member;
  return (memberAt(pipe.source[kind] ?? {}, member) ?? []) as readonly TableMapping[];
}

/** A line for each table: `schema.table = target`. */
function tableLine({ sourceSchemaName, sourceTable, targetTable }: TableMapping): string {
  return `${sourceSchemaName}.${sourceTable} = ${targetTable}`;
}

/** The mappings of such lines. A table keeps what its line does not say, such as columns that are left out. */
function mappingsOf(text: string, pipe: PipeDetails): readonly TableMapping[] {
  const present = tablesOf(pipe);
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    const same = present.find((mapping) => tableLine(mapping) === line);
    if (same !== undefined) return same;
    const [, schema = "public", table = line, name] = /^(?:([^.=]+)\.)?([^=]+?)\s*(?:=\s*(.*))?$/.exec(line) ?? [];
    const target = name || table;
    const own = present.find(
      ({ sourceSchemaName, sourceTable }) => sourceSchemaName === schema && sourceTable === table,
    );
    return { ...own, sourceSchemaName: schema, sourceTable: table, targetTable: target };
  });
}

/** Objects that a request replaces: it sends what stays of them, too. The others are merged. */
function wholeObjects(pipe: PipeDetails): Readonly<Record<string, unknown>> {
  const { mutable, secrets }: SourceDescription = sourceDescriptions[kindOf(pipe)];
  const members = Object.entries(pipe.source[kindOf(pipe)] ?? {});
  return Object.fromEntries(members.filter(([name]) => mutable.includes(name) && !secrets.includes(name)));
}

function nested(differences: readonly Difference[], prefix: string, whole: Readonly<Record<string, unknown>> = {}) {
  if (differences.length === 0) return undefined;
  const body: Record<string, unknown> = {};
  for (const { path, to } of differences) {
    const [member = "", inner] = path.slice(prefix.length).split(".");
    if (inner === undefined) body[member] = to;
    else {
      const value = { ...((body[member] ?? whole[member]) as object | undefined), [inner]: to };
      body[member] = member in whole && Object.values(value).every((one) => one === null) ? null : value;
    }
  }
  return body;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, typeof value === "object" ? 2 : 0);
}

/** An empty text is null: the default. Settings and scaling are numbers and switches. */
function parsedText(kind: PipeKind, path: string, text: string): unknown {
  const field = fieldAt(kind, path);
  if (field?.input === "switch") return text === "true";
  if (text.trim() === "") return null;
  if (path.startsWith("settings.")) {
    const name = path.slice("settings.".length) as SettingName;
    return settingFields[name].isSwitch ? text === "true" : typedNumber(text);
  }
  if (path.startsWith("scaling.") || field?.input === "number") return typedNumber(text);
  const isText = !path.startsWith("source.") || (field !== undefined && field.input !== "area");
  if (isText || !/^\s*[[{\d]|^(true|false)$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type SettingName = keyof PipeDetails["settings"];
type SettingField = { readonly label: string; readonly unit?: string; readonly isSwitch?: true };

export const settingFields: Readonly<Record<SettingName, SettingField>> = {
  streaming_max_insert_wait_ms: { label: "Longest wait before an insert", unit: "ms" },
  object_storage_concurrency: { label: "Batches that are inserted at the same time" },
  object_storage_polling_interval_ms: { label: "Pause between listings", unit: "ms" },
  object_storage_max_insert_bytes: { label: "Largest batch of objects", unit: "bytes" },
  object_storage_max_file_count: { label: "Most objects in a batch" },
  database_max_threads: { label: "Threads of the engine per insert" },
  database_max_insert_threads: { label: "Threads that write" },
  database_min_insert_block_size_bytes: { label: "Smallest block of an insert", unit: "bytes" },
  database_max_download_threads: { label: "Threads that download" },
  database_parallel_distributed_insert_select: { label: "Parallel distributed INSERT SELECT" },
  object_storage_use_cluster_function: { label: "Spread batches over replicas", isSwitch: true },
  database_insert_quorum: { label: "Wait until other replicas have a batch", isSwitch: true },
  database_parallel_view_processing: { label: "Fill materialized views at the same time", isSwitch: true },
  database_lenient_values: { label: "Load values that do not fit, changed", isSwitch: true },
};

/** Settings that mean something for a source of this kind. */
export function settingsOf(kind: PipeKind): readonly SettingName[] {
  const { settings } = sourceDescriptions[kind];
  const names = Object.keys(settingFields) as SettingName[];
  return names.filter((name) => settings.some((beginning) => name.startsWith(beginning)));
}
