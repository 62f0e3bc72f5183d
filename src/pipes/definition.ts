/** Rules of a pipe's definition that schemas cannot state. Every function returns all issues, with paths into the body. */
import { keyExpressionProblem } from "../clickhouse/key-expression.ts";
import { typeTextProblem } from "../clickhouse/type-text.ts";
import type { Issue } from "../lib/errors.ts";
import { type SourceKindKey, sourceKinds } from "../sources/registry.ts";
import type { JsonObject, SourceKind } from "../sources/source.ts";
import type { PipeDestination } from "../store/pipes.ts";

export type Mapping = { readonly sourceField: string; readonly destinationField: string };

/** The one kind that `source` names, or what is wrong with it. */
export function sourceArm(source: Record<string, unknown>): { kind: SourceKindKey } | { issues: Issue[] } {
  const names = Object.keys(sourceKinds) as SourceKindKey[];
  const given = names.filter((name) => source[name] !== undefined);
  if (given.length === 1) return { kind: given[0] as SourceKindKey };
  const message = `must have exactly one of ${names.join(", ")}; it has ${given.length === 0 ? "none" : given.join(", ")}`;
  return { issues: [{ path: "source", message }] };
}

export function sourceIssues(kind: SourceKindKey, config: JsonObject): Issue[] {
  const declared: SourceKind = sourceKinds[kind];
  return (declared.rules?.(config) ?? []).map(({ path, message }) => ({ path: `source.${kind}.${path}`, message }));
}

export function destinationIssues(
  kind: SourceKindKey,
  destination: PipeDestination,
  mappings: readonly Mapping[],
): Issue[] {
  if (kind === "relationalDb") return relationalIssues(destination, mappings);
  const managed = destination.managedTable !== false;
  const columns = destination.columns ?? [];
  const issues: Issue[] = [];
  if (destination.table === undefined) issues.push({ path: "destination.table", message: "is required" });
  if (managed && columns.length === 0) {
    issues.push({ path: "destination.columns", message: "are required for a managed table" });
  }
  if (!managed && destination.tableDefinition !== undefined) {
    issues.push({ path: "destination.tableDefinition", message: "must be absent when managedTable is false" });
  }
  return [...issues, ...columnIssues(columns), ...definitionIssues(destination), ...mappingIssues(columns, mappings)];
}

function relationalIssues(destination: PipeDestination, mappings: readonly Mapping[]): Issue[] {
  const issues: Issue[] = [];
  for (const member of ["table", "managedTable", "tableDefinition", "columns"] as const) {
    if (destination[member] === undefined) continue;
    issues.push({ path: `destination.${member}`, message: "must be absent: tables come from tableMappings" });
  }
  if (mappings.length > 0) issues.push({ path: "fieldMappings", message: "must be absent for relationalDb" });
  return issues;
}

function columnIssues(columns: readonly { name: string; type: string }[]): Issue[] {
  const seen = new Set<string>();
  return columns.flatMap(({ name, type }, index) => {
    const issues: Issue[] = [];
    if (seen.has(name)) issues.push({ path: `destination.columns.${index}.name`, message: "is used twice" });
    seen.add(name);
    const problem = typeTextProblem(type);
    if (problem !== undefined) issues.push({ path: `destination.columns.${index}.type`, message: problem });
    return issues;
  });
}

function definitionIssues(destination: PipeDestination): Issue[] {
  const definition = destination.tableDefinition;
  if (definition === undefined) return [];
  const base = "destination.tableDefinition";
  const names = new Set((destination.columns ?? []).map((column) => column.name));
  const issues: Issue[] = [];
  const requireColumn = (path: string, name: string) => {
    if (!names.has(name)) issues.push({ path, message: `names ${name}, which is not a destination column` });
  };
  const engine = definition.engine ?? {};
  const type = engine.type ?? (engine.versionColumnId === undefined ? undefined : "ReplacingMergeTree");
  if (type === "ReplacingMergeTree" && engine.versionColumnId === undefined) {
    issues.push({ path: `${base}.engine.versionColumnId`, message: "is required for ReplacingMergeTree" });
  }
  if (type === "ReplacingMergeTree" && !definition.sortingKey?.length) {
    issues.push({ path: `${base}.sortingKey`, message: "is required for ReplacingMergeTree" });
  }
  if (engine.versionColumnId !== undefined) {
    if (type !== "ReplacingMergeTree") {
      issues.push({ path: `${base}.engine.versionColumnId`, message: "is only for ReplacingMergeTree" });
    }
    requireColumn(`${base}.engine.versionColumnId`, engine.versionColumnId);
  }
  if (engine.columnIds !== undefined && type !== undefined && type !== "SummingMergeTree") {
    issues.push({ path: `${base}.engine.columnIds`, message: "are only for SummingMergeTree" });
  }
  for (const [index, name] of (engine.columnIds ?? []).entries())
    requireColumn(`${base}.engine.columnIds.${index}`, name);
  for (const [index, name] of (definition.sortingKey ?? []).entries())
    requireColumn(`${base}.sortingKey.${index}`, name);
  for (const member of ["partitionBy", "primaryKey"] as const) {
    const expression = definition[member];
    const problem = expression === undefined ? undefined : keyExpressionProblem(expression, names);
    if (problem !== undefined) issues.push({ path: `${base}.${member}`, message: problem });
  }
  return issues;
}

/** No mappings at all map every column by its name; otherwise every column needs one, and each names a column. */
export function mappingIssues(columns: readonly { name: string }[], mappings: readonly Mapping[]): Issue[] {
  if (mappings.length === 0 || columns.length === 0) return [];
  const names = new Set(columns.map((column) => column.name));
  const mapped = new Set<string>();
  const issues: Issue[] = [];
  for (const [index, { destinationField }] of mappings.entries()) {
    const path = `fieldMappings.${index}.destinationField`;
    if (!names.has(destinationField)) issues.push({ path, message: `${destinationField} is not a destination column` });
    if (mapped.has(destinationField)) issues.push({ path, message: `${destinationField} is mapped twice` });
    mapped.add(destinationField);
  }
  const missing = [...names].filter((name) => !mapped.has(name));
  if (missing.length > 0) {
    issues.push({
      path: "fieldMappings",
      message: `must include all destination columns; missing: ${missing.join(", ")}`,
    });
  }
  return issues;
}

/** Splits a kind's configuration into what may be shown and what is sealed. */
export function splitSecrets(kind: SourceKindKey, config: JsonObject): { shown: JsonObject; secrets: JsonObject } {
  const shown = structuredClone(config) as Record<string, unknown>;
  const secrets: Record<string, unknown> = {};
  for (const path of sourceKinds[kind].secrets) {
    const [head = "", next] = path.split(".");
    if (next === undefined) {
      if (shown[head] !== undefined) secrets[head] = shown[head];
      delete shown[head];
    } else {
      const parent = shown[head] as Record<string, unknown> | undefined;
      if (parent?.[next] !== undefined) secrets[head] = { [next]: parent[next] };
      delete parent?.[next];
    }
  }
  const declared: SourceKind = sourceKinds[kind];
  return { shown: { ...shown, ...declared.shown?.(config) } as JsonObject, secrets: secrets as JsonObject };
}
