/** Filters that a click adds. */
import type { SeriesDefinition } from "./definition.ts";

/** The filter with a condition on a value more, in its language. */
export function withFilter(
  { where, whereLanguage }: SeriesDefinition,
  field: string,
  value: string,
  isWanted: boolean,
): string {
  const added = conditionOf(whereLanguage, field, value, isWanted);
  const before = where.trim();
  if (before === "" || before.includes(added)) return before === "" ? added : before;
  const isJoined = whereLanguage === "lucene" ? /\bOR\b|\|\|/.test(before) : /\bor\b/i.test(before);
  return `${isJoined ? `(${before})` : before} AND ${added}`;
}

/** The filter of a series and these values of fields, whatever the filter says of them already. */
export function withValues(
  { where, whereLanguage }: SeriesDefinition,
  values: readonly (readonly [field: string, value: string])[],
): string {
  const before = where.trim();
  const added = values.map(([field, value]) => conditionOf(whereLanguage, field, value, true));
  return [...(before === "" ? [] : [`(${before})`]), ...added].join(" AND ");
}

function conditionOf(language: SeriesDefinition["whereLanguage"], field: string, value: string, isWanted: boolean) {
  return language === "sql" ? sqlCondition(field, value, isWanted) : luceneCondition(field, value, isWanted);
}

function luceneCondition(field: string, value: string, isWanted: boolean): string {
  const name = /^[\w.]+$|^[\w.]+\['[^']*'\]$/.test(field) ? field : `\`${field}\``;
  const text = `${name}:"${value.replaceAll(/["\\]/g, "\\$&")}"`;
  return isWanted ? text : `NOT ${text}`;
}

function sqlCondition(field: string, value: string, isWanted: boolean): string {
  return `toString(${field}) ${isWanted ? "=" : "!="} '${value.replaceAll(/['\\]/g, "\\$&")}'`;
}
