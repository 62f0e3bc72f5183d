/** The pipe that is being made: what the inputs hold, and the body that is sent. */
import type { SourceDescription } from "../../../../src/sources/contract/description.ts";
import { type SourceKindKey, sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { holds, type SourceField } from "../../../../src/sources/contract/fields.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import { inputsOf, isSecret, type Values } from "./fields.ts";

export type Column = {
  /** Field of the source. */
  readonly field: string;
  readonly name: string;
  readonly type: string;
  readonly skip?: boolean;
};

export type TypedColumn = { readonly name: string; readonly type: string };

export type TableChoice = {
  readonly schema: string;
  readonly table: string;
  readonly target: string;
  /** What else a mapping says of the table, such as columns that are left out. */
  readonly others?: Readonly<Record<string, unknown>>;
};

export type Form = {
  readonly kind: SourceKindKey | undefined;
  readonly label: string;
  readonly serviceId: string;
  readonly name: string;
  readonly values: Values;
  readonly topics: readonly string[];
  readonly tables: readonly TableChoice[];
  readonly database: string;
  readonly table: string;
  readonly isNewTable: boolean;
  readonly columns: readonly Column[];
  readonly sortingKey: readonly string[];
  /** The file whose columns these are, whatever the source. */
  readonly tried: string;
};

export const emptyForm: Form = {
  kind: undefined,
  label: "",
  serviceId: "",
  name: "",
  values: {},
  topics: [],
  tables: [],
  database: "default",
  table: "",
  isNewTable: true,
  columns: [],
  sortingKey: [],
  tried: "",
};

/** Values with which a source of the kind begins. */
export function firstValuesOf(kind: SourceKindKey): Values {
  return Object.fromEntries(
    sourceDescriptions[kind].fields.flatMap(({ path, first }) => (first ? [[path, first]] : [])),
  );
}

/** The source in the words of the API. Inputs that are hidden or empty are left out. */
export function sourceOf(form: Form): Record<string, unknown> {
  const { kind, values, topics, tables } = form;
  if (kind === undefined) return {};
  const source: Record<string, unknown> = values.type ? { type: values.type } : {};
  for (const field of inputsOf(kind, values)) {
    const text = (values[field.path] ?? "").trim();
    if (text !== "") setMember(source, field.path, memberOf(field, text));
  }
  const { of, member } = sourceDescriptions[kind].listing;
  if (of === "topics" && topics.length > 0) source[member] = topics.join(",");
  if (of === "streams" && topics[0] !== undefined) source[member] = topics[0];
  if (of === "tables" && tables.length > 0) source[member] = tables.map(mappingOf);
  return { [kind]: source };
}

/** The pipe creates its tables, and is given their database alone. */
export function ownsTables({ kind, values }: Form): boolean {
  const when = kind && sourceDescriptions[kind].ownsTables;
  return when !== undefined && holds(when, (path) => values[path]);
}

/** What the source lists: objects are the least that it can be before a kind is chosen. */
export function listedBy({ kind }: Form): SourceDescription["listing"]["of"] {
  return kind === undefined ? "objects" : sourceDescriptions[kind].listing.of;
}

/** Applications send the rows: there is nothing to test, to list or to sample. */
export function isSent(form: Form): boolean {
  return listedBy(form) === "nothing";
}

/** The body of createPipe and validatePipe. */
export function bodyOf(form: Form): Record<string, unknown> {
  const source = sourceOf(form);
  const { name, database, table, isNewTable, columns, sortingKey } = form;
  if (ownsTables(form)) return { name, source, destination: { database } };
  const kept = columns.filter(({ skip }) => skip !== true);
  const own = { tableDefinition: { engine: { type: "MergeTree" }, sortingKey } };
  const written = kept.map((column) => ({ name: column.name, type: column.type }));
  const destination = { database, table, managedTable: isNewTable, columns: written, ...(isNewTable ? own : {}) };
  const fieldMappings = kept.map((column) => ({ sourceField: column.field, destinationField: column.name }));
  return { name, source, destination, fieldMappings };
}

/** The columns with the types that a table has already. */
export function fitted(columns: readonly Column[], existing: readonly TypedColumn[]): Column[] {
  const types = new Map(existing.map(({ name, type }) => [name, type]));
  return columns.map((column) => ({ ...column, type: types.get(column.name) ?? column.type }));
}

/** The form without anything that must be kept secret. */
export function withoutSecrets(form: Form): Form {
  return { ...form, values: Object.fromEntries(Object.entries(form.values).filter(([path]) => !isSecret(path))) };
}

/** Whether the connection asks for a secret that is among those, and has none. */
export function lacksSecrets({ kind, values }: Form, secrets: readonly string[] = []): boolean {
  return inputsOf(kind, values, "connection").some(({ path }) => secrets.includes(path) && !values[path]);
}

/** A body to show: secrets are references to the environment, as `millrace apply` replaces them. */
export function shownBody(form: Form): Record<string, unknown> {
  const values = Object.entries(form.values).map(([path, text]) => [
    path,
    isSecret(path) && text !== "" ? reference(path) : text,
  ]);
  return bodyOf({ ...form, values: Object.fromEntries(values) });
}

function reference(path: string): string {
  const name = path.split(".").at(-1) ?? path;
  return `\${env:${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()}}`;
}

function mappingOf({ schema, table, target, others }: TableChoice) {
  return { ...others, sourceSchemaName: schema, sourceTable: table, targetTable: target };
}

function memberOf({ input }: SourceField, text: string): unknown {
  if (input === "number") return typedNumber(text);
  return input === "switch" ? text === "true" : text;
}

function setMember(target: Record<string, unknown>, path: string, value: unknown): void {
  const [head = "", ...rest] = path.split(".");
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  target[head] ??= {};
  setMember(target[head] as Record<string, unknown>, rest.join("."), value);
}
