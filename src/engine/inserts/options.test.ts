import { describe, expect, test } from "vitest";
import { insertOptions, type Setting } from "./options.ts";

const on: Setting = ["async_insert", "1"];
const head = "INSERT INTO t (a, b) FORMAT JSONEachRow";
const of = (...settings: Setting[]) => insertOptions(head, [on, ...settings]);

describe("an insert is joined with others", () => {
  test("with the defaults of a server", () => {
    expect(insertOptions(head, [["async_insert", "true"]])).toEqual({
      wait: true,
      waitMs: 120_000,
      pace: { adapts: true, minMs: 50, maxMs: 200, increase: 0.2, decrease: 0.2 },
      maxBytes: 10_485_760,
      maxInserts: Number.MAX_SAFE_INTEGER,
    });
  });

  test("as its statement says, before the URL", () => {
    const clause = (settings: string) => `INSERT INTO t (settings) SETTINGS ${settings} FORMAT CSV`;
    expect(insertOptions(clause("async_insert=1, wait_for_async_insert = false"), [])).toMatchObject({ wait: false });
    expect(insertOptions(clause("async_insert = 0"), [on])).toBeUndefined();
    expect(insertOptions(clause("async_insert_busy_timeout_ms = 7"), [on])?.pace).toMatchObject({ minMs: 7, maxMs: 7 });
    expect(insertOptions("INSERT INTO settings (async_insert) VALUES", [])).toBeUndefined();
  });

  test("when its settings say nothing of where a row ends", () => {
    expect(of(["input_format_skip_unknown_fields", "1"], ["date_time_input_format", "best_effort"])).toBeDefined();
    for (const name of ["format_csv_delimiter", "input_format_allow_errors_num", "input_format_csv_skip_first_lines"]) {
      expect(of([name, "1"]), name).toBeUndefined();
    }
  });
});

describe("an insert runs alone", () => {
  test.each([
    ["async_insert", "0"],
    ["async_insert_deduplicate", "1"],
    ["insert_deduplication_token", "t"],
    ["max_insert_block_size", "1"],
    ["async_insert_max_data_size", "many"],
    ["async_insert_max_data_size", "-1"],
  ] as const)("with %s = %s", (name, value) => expect(of([name, value])).toBeUndefined());

  test("and is refused with a time of zero, as by a server", () => {
    expect(() => of(["async_insert_busy_timeout_max_ms", "0"])).toThrow("can't be zero");
  });
});
