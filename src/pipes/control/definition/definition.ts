/** Converts a request into a stored pipe, and a stored pipe into a worker's job. */
import type { z } from "zod";
import { withoutNulls } from "../../../api/operation.ts";
import type { createPipeBody } from "../../../api/pipes.ts";
import { columnTypeProblem, tableExpressionProblem } from "../../../clickhouse/guard.ts";
import { badRequest, type Issue, refuseIssues } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { kindOf, sourceKinds } from "../../../sources/contract/registry.ts";
import type { Destination, SourceKind } from "../../../sources/contract/source.ts";
import type { NewPipe, Pipe, PipeDestination } from "../../../store/pipes/pipes.ts";
import type { Job } from "../../protocol.ts";

/** Limit of all columns together: parsing them blocks every other request. */
const maxTypesLength = 262_144;

type CreateBody = z.output<typeof createPipeBody>;

export type Checked = {
  readonly kind: SourceKind;
  readonly config: JsonObject;
  readonly table: Destination;
  readonly validateSamples: boolean;
  readonly pipe: NewPipe;
};

/**
 * The single kind that a source contains, with the issues of its members. Throws BAD_REQUEST unless there is exactly
 * one.
 */
export function checkSource(arms: Readonly<Record<string, unknown>>) {
  const keys = Object.keys(arms).filter((name) => arms[name] !== undefined);
  if (keys.length !== 1) {
    const names = Object.keys(sourceKinds).join(", ");
    throw badRequest("source", `must have exactly one of ${names}; it has ${keys.length}`);
  }
  const key = keys[0] as string;
  const kind = kindOf(key);
  const config = arms[key] as JsonObject;
  const problems = [...(kind.rules?.(config) ?? []), ...loginsInUrls(kind, config)];
  const issues = problems.map(({ path, message }) => ({ path: `source.${key}.${path}`, message }));
  return { key, kind, config, issues };
}

const urlWithLogin = /^[a-z][a-z0-9_+.-]*:\/\/[^/?#]*@/i;

/** Members that are stored and shown as they are, and contain a password all the same. */
function loginsInUrls(kind: SourceKind, config: JsonObject): Issue[] {
  const message = "must not contain user and password in the URL, which is shown; give them as credentials";
  const visit = (value: unknown, path: string): Issue[] => {
    if (kind.secrets.includes(path)) return [];
    if (typeof value === "string") return urlWithLogin.test(value) ? [{ path, message }] : [];
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, member]) => visit(member, path === "" ? name : `${path}.${name}`));
  };
  return visit(config, "");
}

/** Checks whatever can be checked in a request alone; throws BAD_REQUEST with every issue. */
export function checkDefinition(serviceId: string, body: CreateBody): Checked {
  const given = withoutNulls(body);
  const { validateSamples, ...arms } = given.source;
  const { key, kind, config, issues: sourceIssues } = checkSource(arms);
  const destination = given.destination as PipeDestination;
  const mappings = given.fieldMappings ?? [];
  const owned = kind.targets?.(config);
  const issues = [
    ...sourceIssues,
    ...(owned === undefined
      ? [...destinationIssues(destination), ...mappingIssues(destination, mappings)]
      : ownedTableIssues(destination, mappings)),
  ];
  refuseIssues(issues);
  const { plain, secrets } = splitSecrets(kind, config);
  return {
    kind,
    config,
    table: tableOf(destination, mappings, owned),
    validateSamples: validateSamples === true,
    pipe: {
      serviceId,
      name: given.name,
      sourceKind: key,
      source: { [key]: plain },
      secrets,
      destination: withoutRoles(destination),
      roles: (destination as { roles?: string[] }).roles,
      fieldMappings: mappings,
      scaling: (given.scaling ?? {}) as Record<string, number>,
      settings: (given.settings ?? {}) as Record<string, number | boolean>,
    },
  };
}

/** A connector that creates its tables itself takes names and columns from the source. */
function ownedTableIssues(destination: PipeDestination, mappings: NewPipe["fieldMappings"]): Issue[] {
  const issues: Issue[] = [];
  const message = "must be absent: the tables of this source follow from it";
  for (const member of ["columns", "tableDefinition"] as const) {
    if (Object.keys(destination[member] ?? {}).length > 0) issues.push({ path: `destination.${member}`, message });
  }
  if (mappings.length > 0) issues.push({ path: "fieldMappings", message });
  if (destination.managedTable === false) {
    issues.push({ path: "destination.managedTable", message: "must not be false for this kind of source" });
  }
  return issues;
}

export function destinationIssues(destination: PipeDestination): Issue[] {
  const issues: Issue[] = [];
  const add = (path: string, message: string) => issues.push({ path: `destination.${path}`, message });
  if (destination.table === undefined) add("table", "is required");
  const columns = destination.columns ?? [];
  if (columns.length === 0) add("columns", "is required and must not be empty");
  const names = new Set<string>();
  const length = columns.reduce((sum, { type }) => sum + type.length, 0);
  if (length > maxTypesLength) add("columns", `have types of ${length} characters; ${maxTypesLength} are allowed`);
  for (const [index, { name, type }] of columns.entries()) {
    if (names.has(name)) add(`columns.${index}.name`, `is used twice: ${name}`);
    names.add(name);
    const problem = length > maxTypesLength ? undefined : columnTypeProblem(type);
    if (problem !== undefined) add(`columns.${index}.type`, problem);
  }
  if (destination.managedTable === false && destination.tableDefinition !== undefined) {
    add("tableDefinition", "must be absent when managedTable is false");
  }
  if (destination.managedTable !== false) issues.push(...tableDefinitionIssues(destination, names));
  return issues;
}

function tableDefinitionIssues(destination: PipeDestination, names: ReadonlySet<string>): Issue[] {
  const issues: Issue[] = [];
  const definition = destination.tableDefinition;
  const add = (path: string, message: string) => issues.push({ path: `destination.tableDefinition.${path}`, message });
  if (definition === undefined) return issues;
  const { engine, sortingKey = [], partitionBy, primaryKey } = definition;
  const type = engine?.type ?? "MergeTree";
  if (type === "ReplacingMergeTree") {
    if (engine?.versionColumnId === undefined) add("engine.versionColumnId", "is required for ReplacingMergeTree");
    if (sortingKey.length === 0) add("sortingKey", "is required for ReplacingMergeTree");
  } else if (engine?.versionColumnId !== undefined) add("engine.versionColumnId", "is only for ReplacingMergeTree");
  if (type !== "SummingMergeTree" && engine?.columnIds !== undefined) {
    add("engine.columnIds", "is only for SummingMergeTree");
  }
  const named = {
    "engine.versionColumnId": [engine?.versionColumnId ?? []].flat(),
    "engine.columnIds": engine?.columnIds ?? [],
    sortingKey,
  };
  for (const [path, list] of Object.entries(named)) {
    for (const name of list) if (!names.has(name)) add(path, `names ${name}, which is not a destination column`);
  }
  for (const [path, text] of Object.entries({ partitionBy, primaryKey })) {
    const problem = text === undefined ? undefined : tableExpressionProblem(text, names);
    if (problem !== undefined) add(path, problem);
  }
  return issues;
}

export function mappingIssues(destination: PipeDestination, mappings: NewPipe["fieldMappings"]): Issue[] {
  const issues: Issue[] = [];
  // Without mappings every column takes the field of its own name.
  if (mappings.length === 0) return issues;
  const columns = new Set((destination.columns ?? []).map((column) => column.name));
  const mapped = new Set<string>();
  for (const [index, { destinationField }] of mappings.entries()) {
    const path = `fieldMappings.${index}.destinationField`;
    if (!columns.has(destinationField))
      issues.push({ path, message: `${destinationField} is not a destination column` });
    if (mapped.has(destinationField)) issues.push({ path, message: `${destinationField} is mapped twice` });
    mapped.add(destinationField);
  }
  const missing = [...columns].filter((name) => !mapped.has(name));
  if (missing.length > 0) {
    const message = `all destination columns must be included in the mappings; missing: ${missing.join(", ")}`;
    issues.push({ path: "fieldMappings", message });
  }
  return issues;
}

export function tableOf(
  destination: PipeDestination,
  mappings: NewPipe["fieldMappings"],
  owned?: readonly string[],
): Destination {
  const database = destination.database ?? "default";
  if (owned !== undefined) return { kind: "owned", database, tables: owned };
  const sources = new Map(mappings.map(({ sourceField, destinationField }) => [destinationField, sourceField]));
  return {
    kind: "table",
    database,
    table: destination.table ?? "",
    columns: (destination.columns ?? []).map((column) => ({
      ...column,
      sourceField: sources.get(column.name) ?? column.name,
    })),
  };
}

/** Secret members move to the encrypted part; the kind may keep a displayable form of them. */
export function splitSecrets(kind: SourceKind, config: JsonObject) {
  const shown = kind.shown?.(config) ?? config;
  const plain: Record<string, unknown> = {};
  const secrets: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    const paths = kind.secrets.filter((path) => path === name || path.startsWith(`${name}.`));
    if (paths.length === 0) plain[name] = value;
    else {
      secrets[name] = value;
      if (shown[name] !== value) plain[name] = shown[name];
      else if (!paths.includes(name)) plain[name] = withoutPaths(value as JsonObject, name, paths);
    }
  }
  return { plain, secrets };
}

function withoutPaths(value: JsonObject, prefix: string, paths: readonly string[]): JsonObject {
  const kept = Object.entries(value).filter(([name]) => !paths.includes(`${prefix}.${name}`));
  return Object.fromEntries(
    kept.map(([name, member]) => {
      const inside = paths.some((path) => path.startsWith(`${prefix}.${name}.`));
      return [name, inside ? withoutPaths(member as JsonObject, `${prefix}.${name}`, paths) : member];
    }),
  );
}

/** The source's configuration with its secrets, for a connector. */
export function fullConfig(pipe: Pick<Pipe, "source" | "sourceKind">, secrets: Record<string, unknown>): JsonObject {
  return { ...(pipe.source[pipe.sourceKind] as JsonObject), ...secrets } as JsonObject;
}

function withoutRoles(destination: PipeDestination & { roles?: unknown }): PipeDestination {
  const { roles: _, ...rest } = destination;
  return rest;
}

/** What the pipe fills; needs none of its secrets. */
export function destinationOf(
  pipe: Pick<Pipe, "source" | "sourceKind" | "destination" | "fieldMappings">,
): Destination {
  const owned = kindOf(pipe.sourceKind).targets?.(fullConfig(pipe, {}));
  return tableOf(pipe.destination, pipe.fieldMappings, owned);
}

/** The members of a job that the supervisor adds to the pipe. */
export type JobParts = Pick<Job, "task" | "replica" | "fence" | "limits" | "organizationId" | "outgoing">;

export function jobOf(pipe: Pipe, secrets: Record<string, unknown>, parts: JobParts): Job {
  const config = fullConfig(pipe, secrets);
  return {
    pipeId: pipe.id,
    epoch: pipe.epoch,
    sourceKind: pipe.sourceKind,
    config,
    table: tableOf(pipe.destination, pipe.fieldMappings, kindOf(pipe.sourceKind).targets?.(config)),
    destination: { ...pipe.destination, managedTable: pipe.destination.managedTable !== false },
    settings: pipe.settings,
    scaling: pipe.scaling,
    ...parts,
  };
}
