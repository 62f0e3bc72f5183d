/** The first rows of an object, as text where a row is a line of it, and as the engine reads them. */

import type { FoundField, SampleRow } from "../../contract/discovery.ts";
import type { Query } from "../../contract/source.ts";
import { parsedSamples, rowsOrProblem, shownSamples } from "../../messages/sample-rows.ts";
import type { ObjectFile } from "../stores/store.ts";
import { hasHeader, isRowFormat, type ObjectFormat, objectFormatSettings } from "./formats.ts";
import type { ObjectStatements } from "./reading.ts";

/** A longer line is not shown: the object is one document, or not what its format says. */
const lineBytes = 65_536;

type Reading = {
  readonly file: ObjectFile;
  readonly format: ObjectFormat;
  readonly reading: ObjectStatements;
  readonly fields: readonly FoundField[];
  readonly query: Query;
  readonly delimiter: string | undefined;
};

export async function objectSamples(given: Reading, signal: AbortSignal): Promise<SampleRow[]> {
  const { format, fields, query, delimiter } = given;
  const lines = isRowFormat(format) ? await rowLines(given, signal) : undefined;
  if (lines === undefined) return await parsedOnly(given, signal);
  const [names, ...rest] = lines;
  const withNames = hasHeader(format) && names !== undefined;
  const bytesOf = (line: string) => Buffer.from(`${line}\n`);
  const rows = (withNames ? rest : lines).slice(0, shownSamples);
  const settings = objectFormatSettings(format, delimiter, false);
  return await parsedSamples(
    {
      ...{ format, settings, fields },
      head: withNames ? bytesOf(names) : Buffer.alloc(0),
      rows: rows.map((line) => ({ content: bytesOf(line), raw: Buffer.from(line) })),
    },
    query,
  );
}

/** The first lines, if each of them is a row. */
async function rowLines({ file, format, reading, query }: Reading, signal: AbortSignal): Promise<string[] | undefined> {
  const { sql, ...rest } = await reading.lines(file, format, shownSamples + 1, lineBytes, signal);
  const found = await rowsOrProblem(() => query(sql, rest));
  if (!Array.isArray(found) || found.some(({ bytes }) => Number(bytes) > lineBytes)) return undefined;
  const lines = found.map(({ shown }) => String(shown)).filter((line) => line.trim() !== "");
  return lines.every((line) => isRow(line, format)) ? lines : undefined;
}

/** A document over several lines has lines that are no objects; a field over several has a quote that stays open. */
function isRow(line: string, format: ObjectFormat): boolean {
  if (format.startsWith("JSON")) return line.trimStart().startsWith("{");
  return !format.startsWith("CSV") || (line.split('"').length - 1) % 2 === 0;
}

async function parsedOnly({ file, format, reading, query }: Reading, signal: AbortSignal): Promise<SampleRow[]> {
  const { sql, ...rest } = await reading.selectFirst(file, format, "*", shownSamples, signal);
  const rows = await rowsOrProblem(() => query(sql, rest));
  return Array.isArray(rows) ? rows.map((parsed) => ({ parsed })) : [{ problem: rows }];
}
