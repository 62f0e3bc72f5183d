/** A table for what a source has, proposed from samples: columns, and an order with the reason for it. */

import type { z } from "zod";
import type { proposedTable as schema } from "../../../api/pipe-preparation.ts";
import type { TableForm } from "../../../clickhouse/table-form.ts";
import type { Discovery, FoundField, SampleRow } from "../../../sources/contract/discovery.ts";
import type { PipeDestination } from "../../../store/pipes/pipes.ts";
import { managedTableStatements } from "../../managed-table.ts";

/** Fewer samples say nothing about which values repeat. */
const minSamples = 8;
/** A field repeats when its samples have at most a quarter of distinct values. */
const repeats = 4;
const maxRepeating = 2;

const sortable = /^(U?Int\d+|String|FixedString\(\d+\)|UUID|IPv[46]|Date(32)?|DateTime(64)?(\([^()]*\))?)$/;
const timeType = /^Date/;
const timeName = /(^|_)(at|ts|time|timestamp|date|created|updated|occurred)$|[a-z](At|Time|Date)$|timestamp/i;
const idName = /(^|_)(id|uuid|guid|key)$|[a-z](Id|ID|Uuid|Key)$/i;

/**
 * Sorted by fields whose values repeat, then by time, then by what tells rows apart: queries that name the first fields
 * or a range of time then read few rows, and equal values lie together.
 */
export function proposedTable(
  { fields, samples }: Discovery,
  target: { readonly database: string; readonly table: string },
  form?: TableForm,
): z.output<typeof schema> {
  const parts = sortingParts(fields, samples);
  const columns = fields.map(({ name, type }) => ({ name, type }));
  const tableDefinition = { engine: { type: "MergeTree" as const }, sortingKey: parts.map(({ name }) => name) };
  const definition: PipeDestination = { columns, tableDefinition };
  return {
    columns,
    tableDefinition,
    sortingKeyReason:
      parts.length === 0
        ? "No field has a value to sort by in every sample: rows keep the order in which they arrive."
        : `${parts.map(({ name, reason }) => `${name}: ${reason}`).join("; ")}.`,
    createTable: managedTableStatements(target, definition, form).join(";\n"),
  };
}

type Part = { readonly name: string; readonly reason: string };

function sortingParts(fields: readonly FoundField[], samples: readonly SampleRow[]): Part[] {
  const rows = samples.flatMap(({ parsed }) => (parsed === undefined ? [] : [parsed]));
  const distinct = ({ name }: FoundField) => new Set(rows.map((row) => JSON.stringify(row[name]))).size;
  const keys = fields.filter(({ type }) => sortable.test(type));
  const times = keys.filter(({ type }) => timeType.test(type));
  const time = times.find(({ name }) => timeName.test(name)) ?? times[0];
  const id = keys.find((field) => field !== time && idName.test(field.name) && distinct(field) === rows.length);
  const repeating = keys.filter((field) => {
    const values = distinct(field);
    const isText = field.type === "String" || /^U?Int(8|16)$/.test(field.type);
    return rows.length >= minSamples && isText && field !== id && values > 1 && values * repeats <= rows.length;
  });
  const first = repeating.sort((a, b) => distinct(a) - distinct(b)).slice(0, maxRepeating);
  const parts: Part[] = first.map((field) => ({
    name: field.name,
    reason: `its values repeat (${distinct(field)} in ${rows.length} samples), so that equal ones lie together`,
  }));
  if (time !== undefined) parts.push({ name: time.name, reason: "a time, by which rows are usually selected" });
  if (id !== undefined) parts.push({ name: id.name, reason: "different in every sample, so that it tells rows apart" });
  const [only] = keys;
  if (parts.length === 0 && only !== undefined) {
    parts.push({ name: only.name, reason: "the first field that has a value to sort by in every sample" });
  }
  return parts;
}
