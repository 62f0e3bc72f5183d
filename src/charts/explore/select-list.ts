/** What a search shows of a row: the caller's list, the source's, or all columns. */

import { isPunctuation, isWord, tokenize } from "../../clickhouse/lexer.ts";
import { identifier } from "../../clickhouse/sql.ts";
import { badRequest } from "../../lib/errors.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import type { Params } from "../columns/params.ts";
import type { TableSchema } from "../columns/schema.ts";
import { at } from "../errors.ts";
import { FilterError } from "../filter/syntax.ts";
import { expressionOrPath } from "../plan/conditions.ts";

/** A value of a row, by the name that it has in the answer. */
export type Selected = { readonly name: string; readonly sql: string };

const maxItems = 200;

type Item = { readonly text: string; readonly start: number; readonly name: string };

/** Throws AppError with the path, and the position in the list. */
export async function selectedOf(
  list: { readonly text: string; readonly path: string } | undefined,
  schema: TableSchema,
  params: Params,
): Promise<Selected[]> {
  if (list === undefined) return allColumns(schema, params);
  const { text, path } = list;
  const items = itemsOf(text);
  if (items.length > maxItems) throw badRequest(path, `has more than ${maxItems} items`);
  const selected: Selected[] = [];
  const names = new Set<string>();
  for (const item of items) {
    await yieldWhenLong();
    const { sql, type } = at(path, () => expressionAt(item, schema, params));
    if (names.has(item.name)) throw badRequest(path, `has ${item.name.slice(0, 200)} twice; tell them apart with AS`);
    if (type?.family === "aggregate") throw badRequest(path, `${item.name} is the state of an aggregate`);
    names.add(item.name);
    selected.push({ name: item.name, sql });
  }
  return selected;
}

/** States of aggregates are not values. */
function allColumns(schema: TableSchema, params: Params): Selected[] {
  return [...schema.columns.values()].flatMap(({ name, type }) => {
    if (type.family === "aggregate") return [];
    params.reads(name);
    return [{ name, sql: identifier(name) }];
  });
}

function expressionAt({ text, start }: Item, schema: TableSchema, params: Params) {
  try {
    return expressionOrPath(text, schema, params);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new FilterError(error.message, start + error.position, error.code);
  }
}

/** The expressions of a comma list, without their names. */
export function listItems(text: string): string[] {
  return itemsOf(text).map((item) => item.text);
}

/** Splits at the commas outside of brackets; an item is called as it is written, or by what follows its last AS. */
function itemsOf(text: string): Item[] {
  const tokens = tokenize(text);
  const items: Item[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= tokens.length; i += 1) {
    const token = tokens[i];
    if (["(", "[", "{"].some((open) => isPunctuation(token, open))) depth += 1;
    if ([")", "]", "}"].some((close) => isPunctuation(token, close))) depth -= 1;
    if (token !== undefined && (depth > 0 || !isPunctuation(token, ","))) continue;
    const own = tokens.slice(from, i);
    from = i + 1;
    const start = own[0]?.start ?? token?.start ?? text.length;
    const name = isWord(own.at(-2), "AS") && own.length > 2 ? own.at(-1) : undefined;
    const end = (name === undefined ? own.at(-1) : own.at(-3))?.end ?? start;
    const written = text.slice(start, end);
    items.push({ text: written, start, name: name?.value ?? written });
  }
  return items;
}
