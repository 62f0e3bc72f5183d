import { describe, expect, test } from "vitest";
import { refuseCostly } from "./costs.ts";

describe("texts that would cost the engine's parser too much", () => {
  const again = (part: string) => part.repeat(30);
  test.each([
    ["a chain", `SELECT n${again(" BETWEEN 1 AND 2")}`],
    ["with odd bounds", `SELECT n${again(" BETWEEN {a:Int8} AND (case, 1)")}`],
    ["in parentheses", `SELECT ${again("(")}n${again(" BETWEEN 1 AND 2)")}`],
    ["in tuples", `SELECT ${again("(")}n${again(" BETWEEN 1 AND 2, 1)")}`],
    ["in functions", `SELECT ${again("f(1, ")}n${again(" BETWEEN 1 AND 2, 1)")}`],
    ["in cases", `SELECT ${again("CASE WHEN 1 THEN ")}n${again(" BETWEEN 1 AND 2 ELSE 1 END")}`],
    ["with commas in comments", `SELECT n${again(" BETWEEN 1 AND 2 # ,\n")}`],
    ["with commas in comments of blocks", `SELECT n${again(" BETWEEN /* , */ 1 AND 2")}`],
    ["with commas in quotes", `SELECT n${again(" BETWEEN 1 AND ' , '")}`],
    ["with commas in heredocs", `SELECT n${again(" BETWEEN 1 AND $a$ , $a$")}`],
    ["heredocs", Array.from({ length: 30_000 }, (_, i) => `$a${i}$`).join(" ")],
  ])("%s", (_, text) => {
    expect(() => refuseCostly(text)).toThrow(/BETWEEN|dollar/);
  });
  test.each([
    ["many conditions", `SELECT 1 WHERE ${again("a BETWEEN 1 AND 2 AND ")} 1`],
    ["with parameters and lists", `SELECT ${again("(a BETWEEN {x:Int8} AND now()), ")} 1`],
    ["in cases", `SELECT CASE ${again("WHEN a BETWEEN 1 AND 2 THEN 3 ")} END`],
    ["or", `SELECT 1 WHERE ${again("(a BETWEEN 1 AND 2) OR ")} 1`],
    ["prices", `SELECT '${again("$5, ")}'`],
  ])("but not %s", (_, text) => {
    expect(() => refuseCostly(text)).not.toThrow();
  });
});
