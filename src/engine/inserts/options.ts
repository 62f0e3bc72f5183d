/**
 * The settings of asynchronous inserts, with the names, meanings and defaults of a ClickHouse server, and whether an
 * insert with them can be joined with others.
 */
import { clickHouseException } from "../../clickhouse/exception.ts";
import { plainTokenAt } from "../sql/text/plain-text.ts";
import type { SqlToken } from "../sql/text/tokens.ts";
import type { Pace } from "./pace.ts";

export type Setting = readonly [name: string, value: string];

export type InsertOptions = {
  /** The answer comes after the rows are in the table, or after the time. */
  readonly wait: boolean;
  readonly waitMs: number;
  readonly pace: Pace;
  /** As many bytes or inserts are not waited with. */
  readonly maxBytes: number;
  readonly maxInserts: number;
};

const defaults: Readonly<Record<string, string>> = {
  wait_for_async_insert: "1",
  wait_for_async_insert_timeout: "120",
  async_insert_use_adaptive_busy_timeout: "1",
  async_insert_busy_timeout_min_ms: "50",
  async_insert_busy_timeout_max_ms: "200",
  async_insert_busy_timeout_increase_rate: "0.2",
  async_insert_busy_timeout_decrease_rate: "0.2",
  async_insert_max_data_size: "10485760",
  async_insert_max_query_number: "450",
};
const countName = "async_insert_max_query_number";
const aliases: Readonly<Record<string, string>> = { async_insert_busy_timeout_ms: "async_insert_busy_timeout_max_ms" };

/**
 * Settings of formats that say nothing of where a row ends. With any other, and with a number of errors that is
 * allowed, rows of several clients in one text could be read differently than alone.
 */
const harmlessFormats =
  /^input_format_(?:skip_unknown_fields|null_as_default|defaults_for_omitted_fields|import_nested_json|force_null_for_omitted_fields|json_\w+|values_\w+)$/;

/** A longer statement is a rare one, and not joined. */
export const maxHeadBytes = 16_384;

/** True when the text or the parameters name asynchronous inserts: cheap, and asked of every INSERT. */
export function mayBeAsync(text: Buffer, parameters: readonly Setting[]): boolean {
  if (parameters.some(([name]) => name === "async_insert")) return true;
  return text.subarray(0, maxHeadBytes).includes("async_insert");
}

/**
 * The options of an insert that is to be joined with others; undefined when it is not, or when the engine has to say
 * what is wrong. `head` is its statement without data. Throws BAD_ARGUMENTS for a time that a server refuses.
 */
export function insertOptions(head: string, parameters: readonly Setting[]): InsertOptions | undefined {
  const given = new Map<string, string>();
  for (const [name, value] of [...parameters, ...settingsOf(head)]) given.set(aliases[name] ?? name, value);
  if (!isOn(given.get("async_insert")) || !canBeJoined(given)) return undefined;
  const numberOf = (name: string) => {
    const value = given.get(name) ?? (defaults[name] as string);
    return /^(?:true|false)$/.test(value) ? Number(value === "true") : Number(value);
  };
  if (Object.keys(defaults).some((name) => !(numberOf(name) >= 0))) return undefined;
  const maxMs = numberOf("async_insert_busy_timeout_max_ms");
  if (maxMs === 0) {
    throw clickHouseException("BAD_ARGUMENTS", "Setting 'async_insert_busy_timeout_max_ms' can't be zero.");
  }
  return {
    wait: numberOf("wait_for_async_insert") > 0,
    waitMs: numberOf("wait_for_async_insert_timeout") * 1_000,
    pace: {
      adapts: numberOf("async_insert_use_adaptive_busy_timeout") > 0,
      maxMs,
      minMs: Math.min(Math.max(numberOf("async_insert_busy_timeout_min_ms"), 1), maxMs),
      increase: numberOf("async_insert_busy_timeout_increase_rate"),
      decrease: numberOf("async_insert_busy_timeout_decrease_rate"),
    },
    maxBytes: numberOf("async_insert_max_data_size"),
    // A server looks at it only where it deduplicates; whoever names it means it.
    maxInserts: given.has(countName) ? numberOf(countName) : Number.MAX_SAFE_INTEGER,
  };
}

function isOn(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

/** The table's deduplication must see the rows of one client alone, and all rows must be one block. */
function canBeJoined(given: ReadonlyMap<string, string>): boolean {
  if (isOn(given.get("async_insert_deduplicate")) || (given.get("insert_deduplication_token") ?? "") !== "")
    return false;
  for (const name of given.keys()) {
    if (/^(?:input_)?format_/.test(name) && !harmlessFormats.test(name)) return false;
    if (name.includes("insert_block_size")) return false;
  }
  return true;
}

/** What the clause SETTINGS of an INSERT sets, outside of parentheses. */
function settingsOf(head: string): Setting[] {
  if (!/\bsettings\b/i.test(head)) return [];
  const tokens: SqlToken[] = [];
  let depth = 0;
  for (
    let token = plainTokenAt(head, 0);
    token !== undefined && token !== "odd";
    token = plainTokenAt(head, token.end)
  ) {
    if (token.value === ")") depth -= 1;
    if (depth === 0) tokens.push(token);
    if (token.value === "(") depth += 1;
  }
  return tokens.flatMap(({ value }, at): Setting[] => {
    const [name, set] = [tokens[at - 1], tokens[at + 1]];
    return value === "=" && name !== undefined && set !== undefined ? [[name.value, set.value]] : [];
  });
}
