/** What editors know of a service: the words of its engine, and its tables. */

import type { OperationResult } from "../api/client.ts";
import { quotedName } from "../lib/quoted-name.ts";

export type EngineWords = OperationResult<"getCompletions">;
export type Tables = OperationResult<"listTables">["tables"];

/** Common words for the time before the engine's own are known. */
const fewKeywords =
  "ALTER AND ARRAY AS ASC BETWEEN BY CASE CAST CREATE DATABASE DELETE DESC DESCRIBE DISTINCT DROP ELSE END EXISTS EXPLAIN FINAL FORMAT FROM FULL GLOBAL GROUP HAVING IF IN INNER INSERT INTERVAL INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OPTIMIZE OR ORDER OUTER OVER PARTITION PREWHERE RIGHT SAMPLE SELECT SET SETTINGS SHOW TABLE THEN TO TOTALS TRUNCATE UNION UPDATE USING VALUES VIEW WHEN WHERE WITH";

export const noWords: EngineWords = {
  version: "",
  keywords: fewKeywords.split(" "),
  functions: [],
  tableFunctions: [],
  tableEngines: [],
  dataTypes: [],
  formats: [],
  settings: [],
};

/** A table's name for a statement; `default` is left out. */
export function tableName({ database, name }: { readonly database: string; readonly name: string }): string {
  return database === "default" ? quotedName(name) : `${quotedName(database)}.${quotedName(name)}`;
}
