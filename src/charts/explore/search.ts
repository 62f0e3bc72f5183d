/**
 * Rows of a source, page by page. A page takes two queries: the first reads only what rows are sorted by and finds how
 * far the page reaches, the second reads whole rows, of that stretch alone.
 */

import { seriesItem } from "../../api/charts.ts";
import type { SearchRequest, SearchResponse } from "../../api/explore.ts";
import { tableName } from "../../clickhouse/sql.ts";
import { parseType } from "../../clickhouse/types.ts";
import { AppError, badRequest } from "../../lib/errors.ts";
import { yieldWhenLong } from "../../lib/yield.ts";
import { isTooLong, tooLong } from "../columns/budget.ts";
import { Params } from "../columns/params.ts";
import { at } from "../errors.ts";
import { locateError } from "../locate-error.ts";
import { conditionsOf, expressionOrPath } from "../plan/conditions.ts";
import { alias } from "../plan/events.ts";
import { ExpressionTypes, type Series, type TypedExpression } from "../plan/plan.ts";
import { inRange, rowTime } from "../plan/row-time.ts";
import { requireTimeZone } from "../timezone.ts";
import type { Reader } from "../turns.ts";
import {
  digestOf,
  isAfter,
  isNotBefore,
  isNotBeyond,
  type KeyValue,
  keyText,
  type PagePosition,
  readCursor,
  type SortKey,
  sortTerms,
  writeCursor,
} from "./position.ts";
import type { SourceRead, SourceReads } from "./reads.ts";
import { type RowsRequest, rowsRequestOf } from "./rows-request.ts";
import { type Selected, selectedOf } from "./select-list.ts";

type Page = Pick<SearchResponse, "data" | "nextCursor"> & Pick<SearchResponse["meta"], "columns" | "warnings">;

/** The parts of both queries of a page. */
type Plan = {
  readonly params: Params;
  readonly selected: readonly Selected[];
  /** What rows are sorted by; what they show comes last, so that rows with equal keys look alike. */
  readonly keys: readonly [SortKey, ...SortKey[]];
  readonly from: string;
  readonly prefix: string;
};

const stringType = parseType("String");

/** Values that can be compared with their text. */
const sortable = new Set("text integer float decimal boolean date dateTime uuid ip enum".split(" "));

const settings = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_decimals: 1,
  output_format_json_named_tuples_as_objects: 1,
};

/**
 * The engine's filter by the best values so far would take the place of a PREWHERE by the stretch, and whole rows of
 * the table would be read, and hashed for the cursor, to find the few of the page.
 */
const tuning = { use_top_k_dynamic_filtering: 0 } as const;

export class Search {
  readonly #reads: SourceReads;

  constructor(reads: SourceReads) {
    this.#reads = reads;
  }

  /** One page. Throws AppError. */
  async rows(request: SearchRequest, reader: Reader): Promise<SearchResponse> {
    requireTimeZone(request.timezone);
    const { sourceId, ...asked } = request;
    const wanted = rowsRequestOf(request, Date.now());
    const work = (read: SourceRead) => pageOf(wanted, read);
    const { result, meta } = await this.#reads.ofSource(sourceId, "sourceId", asked, reader, work);
    const { data, nextCursor, columns, warnings } = result;
    const next = nextCursor !== undefined && wanted.isPaged ? { nextCursor } : {};
    return { data, rows: data.length, ...next, meta: { ...meta, columns, warnings } };
  }
}

async function pageOf(request: RowsRequest, read: SourceRead): Promise<Page> {
  const warnings: string[] = [];
  const { where, whereLanguage } = request;
  const item = seriesItem.parse({ sourceId: request.sourceId, aggFn: "count", where, whereLanguage });
  const series: Series[] = [{ index: 0, item, prefix: "" }];
  const warn = (path: string, message: string) => void warnings.push(`${path}: ${message}`);
  try {
    const plan = await planOf(request, { ...read, series, warn });
    const { sourceId, limit, offset, isPaged: _, cursor, wake: __, ...same } = request;
    const of = digestOf([sourceId, read.source.updatedAt, same]);
    const after = cursor === undefined ? undefined : readCursor(cursor, of, plan.keys.length);
    const reach = await reachOf(plan, after, offset + limit, read);
    return { ...(await rowsOf(plan, { after, reach, limit, offset, of }, read)), warnings };
  } catch (error) {
    throw await locateError(error, { series, schema: read.schema, typesOf: read.typesOf });
  }
}

type Input = SourceRead & { readonly series: readonly Series[]; warn(path: string, message: string): void };

async function planOf(request: RowsRequest, input: Input): Promise<Plan> {
  const { source, schema } = input;
  const params = new Params();
  const [condition] = await conditionsOf({ ...input, buckets: { zone: request.timezone } }, params);
  const list =
    request.select === undefined
      ? { path: "source.defaultTableSelectExpression", text: source.defaultTableSelectExpression?.trim() ?? "" }
      : { path: "select", text: request.select };
  const beforeSelect = written(params);
  const selected = await selectedOf(list.text === "" ? undefined : list, schema, params);
  at(list.path, () => spendCopies(copiesOfSelected, beforeSelect, params));
  const types = new ExpressionTypes();
  const time = rowTime(input, params, types, source.kind === "metric" ? "TimeUnix" : undefined);
  const { orderBy } = request;
  const beforeSort = written(params);
  const sort =
    orderBy === undefined ? undefined : at("orderBy", () => expressionOrPath(orderBy.trim(), schema, params));
  at("orderBy", () => spendCopies(copiesOfKey, beforeSort, params));
  const sorted = sort && types.expect([sort]);
  await types.ask(input, params);
  const times = time();
  const [chosen] = sorted?.() ?? [];
  if (chosen !== undefined && !sortable.has(chosen.type.family)) {
    throw badRequest("orderBy", `rows cannot be sorted by a value of type ${chosen.type.text}`);
  }
  const bounds = inRange(times, request.startTime, request.endTime + 1, request.timezone, params);
  const where = [bounds, ...(condition?.sql === undefined ? [] : [condition.sql])].join(" AND ");
  return {
    params,
    selected,
    keys: keysOf(times.finest, chosen, request.order === "desc", selected),
    from: `FROM ${tableName(schema.database, schema.table)}\nWHERE ${where}`,
    prefix: alias(schema.columns),
  };
}

/** Number of repetitions in the queries of a page: in the hash, the order, and the conditions of a cursor. */
const copiesOfSelected = 4;
const copiesOfKey = 12;

function written({ budget }: Params) {
  return { nodes: budget.nodes, bytes: budget.bytes };
}

/** Counts what was written since as often as it is repeated. Throws FilterError. */
function spendCopies(copies: number, before: { nodes: number; bytes: number }, { budget }: Params): void {
  budget.spend(copies * (budget.nodes - before.nodes), copies * (budget.bytes - before.bytes), 0);
}

function keysOf(
  time: TypedExpression,
  chosen: TypedExpression | undefined,
  descending: boolean,
  selected: readonly Selected[],
): [SortKey, ...SortKey[]] {
  const look = `hex(sipHash128(formatRow('JSONCompactEachRow', ${selected.map(({ sql }) => sql).join(", ")})))`;
  const tie: SortKey = { sql: look, type: stringType, descending: false };
  if (chosen === undefined) return [{ ...time, descending }, tie];
  return [{ ...chosen, descending }, { ...time, descending: true }, tie];
}

/** How far the page reaches: the first key of its last row; undefined when it holds all that is left. */
async function reachOf(
  { params, keys, from, prefix }: Plan,
  after: PagePosition | undefined,
  rows: number,
  read: SourceRead,
): Promise<KeyValue | undefined> {
  const [first] = keys;
  // The rows beyond the first key are enough, whatever is left of those at it.
  const beyond = after === undefined ? [] : [isAfter([first], after.values, params, false)];
  const text = await read.query(
    `SELECT ${keyText(first)} AS ${prefix}0 ${[from, ...beyond].join(" AND ")}
ORDER BY ${sortTerms([first]).join(", ")} LIMIT 1 OFFSET ${rows} FORMAT JSONCompactEachRow`,
    { params: params.values(), settings },
  );
  return text.trim() === "" ? undefined : ((JSON.parse(text) as KeyValue[])[0] as KeyValue);
}

type Stretch = {
  readonly after: PagePosition | undefined;
  readonly reach: KeyValue | undefined;
  readonly limit: number;
  /** Zero after a position. */
  readonly offset: number;
  readonly of: string;
};

async function rowsOf(plan: Plan, { after, reach, limit, offset, of }: Stretch, read: SourceRead) {
  const { params, selected, keys, from, prefix } = plan;
  const conditions = [
    ...(after === undefined ? [] : [isNotBefore(keys[0], after.values[0] ?? null, params)]),
    ...(reach === undefined ? [] : [isNotBeyond(keys[0], reach, params)]),
    // Last: it may need every column of a row.
    ...(after === undefined ? [] : [isAfter(keys, after.values, params, true)]),
  ];
  const shown = [...keys.map(keyText), ...selected.map(({ sql }) => sql)];
  const sql = `SELECT ${shown.map((one, i) => `${one} AS ${prefix}${i}`).join(", ")}
${[from, ...conditions].join(" AND ")}
ORDER BY ${sortTerms(keys).join(", ")} LIMIT ${limit + 1} OFFSET ${after?.seen ?? offset}
FORMAT JSONCompactEachRowWithNamesAndTypes`;
  if (isTooLong({ sql, params })) throw new AppError("BAD_REQUEST", tooLong);
  const { columns, rows } = await engineRows(await read.query(sql, { params: params.values(), settings, tuning }));
  const page = rows.slice(0, limit);
  const positions = page.map((row) => row.slice(0, keys.length) as KeyValue[]);
  const last = positions.at(-1);
  // Rows that were deleted between the two queries may leave a page short although others follow.
  const goesOn = last !== undefined && (rows.length > limit || reach !== undefined);
  const names = selected.map(({ name }) => name);
  return {
    data: page.map((row) => Object.fromEntries(names.map((name, i) => [name, row[keys.length + i]]))),
    ...(goesOn ? { nextCursor: writeCursor({ of, values: last, seen: seenAt(last, positions, after) }) } : {}),
    columns: names.map((name, i) => ({ name, type: columns[keys.length + i]?.type ?? "" })),
  };
}

/** How many rows with the values of the last one the pages had so far. */
function seenAt(last: readonly KeyValue[], positions: readonly KeyValue[][], after: PagePosition | undefined): number {
  const isSame = (values: readonly KeyValue[]) => values.every((value, i) => value === last[i]);
  const other = positions.findLastIndex((values) => !isSame(values));
  const here = positions.length - 1 - other;
  return other < 0 && after !== undefined && isSame(after.values) ? here + after.seen : here;
}

/** A string, or a number whose digits are looked at. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The same JSON with integers beyond 2^53 as text: as numbers they would lose digits. */
function withSafeIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  return json.replaceAll(token, (found) =>
    found.length >= 16 && /^-?\d+$/.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found,
  );
}

type EngineRows = {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
};

/** Reads `JSONCompactEachRowWithNamesAndTypes`. */
async function engineRows(text: string): Promise<EngineRows> {
  const [names, types, ...lines] = text.split("\n").filter((line) => line !== "");
  const listOf = (line = "[]") => JSON.parse(line) as string[];
  const typeNames = listOf(types);
  const rows: unknown[][] = [];
  for (const line of lines) {
    rows.push(JSON.parse(withSafeIntegers(line)) as unknown[]);
    await yieldWhenLong();
  }
  return { columns: listOf(names).map((name, i) => ({ name, type: typeNames[i] ?? "" })), rows };
}
