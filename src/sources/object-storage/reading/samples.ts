/** `validateSamples`: reads the first object as the pipe would and reports which field does not fit. */
import { AppError, type Issue } from "../../../lib/errors.ts";
import type { Discovery, FoundField, SampleRow } from "../../contract/discovery.ts";
import type { Query, TargetTable } from "../../contract/source.ts";
import { shortMessage } from "../../messages/engine-message.ts";
import { foundFieldsOf } from "../../messages/found-fields.ts";
import { pathSteps } from "../../messages/paths.ts";
import { parsedSamples, rowsOrProblem, shownSamples } from "../../messages/sample-rows.ts";
import type { ObjectFile } from "../stores/store.ts";
import { isVirtual } from "./fields.ts";
import { hasHeader, isPositional, isRowFormat, type ObjectFormat, objectFormatSettings } from "./formats.ts";
import type { ObjectStatements } from "./reading.ts";

/** The destination that samples must fit, and the reader. */
export type SampleOptions = { readonly destination: TargetTable; readonly query: Query };

const sampleRows = 100;
/** Rows whose values say which fields are never NULL. */
const discoveryRows = 1000;

export async function checkSample(
  file: ObjectFile | undefined,
  format: ObjectFormat,
  reading: (columns: TargetTable["columns"]) => ObjectStatements,
  options: SampleOptions,
  signal: AbortSignal,
): Promise<void> {
  if (file === undefined) throw new AppError("SOURCE_INVALID", "No object matches yet, so no sample can be validated.");
  const run = (columns: TargetTable["columns"]) => readSample(file, format, reading(columns), options, signal);
  const failure = await run(options.destination.columns);
  if (failure === undefined) return await checkFieldsExist(file, format, reading, options, signal);
  const issues: Issue[] = [];
  for (const column of isPositional(format) ? [] : options.destination.columns) {
    if (isVirtual(column.sourceField)) continue;
    const problem = await run([column]);
    if (problem === undefined) continue;
    const message = `field "${column.sourceField}" does not fit ${column.type} in ${file.key}: ${problem}`;
    issues.push({ path: `destination.columns.${column.name}`, message });
  }
  const list = issues.map((issue) => issue.message).join("; ");
  throw new AppError("SOURCE_INVALID", `The sample does not fit: ${list || `${file.key}: ${failure}`}`, { issues });
}

/** The error of the sample; undefined when its rows can be read. */
async function readSample(
  file: ObjectFile,
  format: ObjectFormat,
  reading: ObjectStatements,
  options: SampleOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { sql, ...rest } = await reading.sample(file, format, sampleRows, signal);
  try {
    await options.query(sql, rest);
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return shortMessage((error as Error).message);
  }
}

/** A mapped field that is missing in the sample is most likely misspelled. */
async function checkFieldsExist(
  file: ObjectFile,
  format: ObjectFormat,
  reading: (columns: TargetTable["columns"]) => ObjectStatements,
  options: SampleOptions,
  signal: AbortSignal,
): Promise<void> {
  if (isPositional(format) || format === "JSONAsObject") return;
  const { sql, ...rest } = await reading(options.destination.columns).describe(file, format, signal);
  const found = new Set((await options.query(sql, rest)).map((row) => String(row.name)));
  const named = format.startsWith("CSV") || format.startsWith("Tab");
  const missing = options.destination.columns.filter((column) => {
    const first = named ? column.sourceField : (pathSteps(column.sourceField)[0] as string);
    return !isVirtual(column.sourceField) && !found.has(first);
  });
  if (missing.length === 0) return;
  const names = missing.map((column) => `"${column.sourceField}"`).join(", ");
  const issues = missing.map((column) => ({
    path: "fieldMappings",
    message: `field "${column.sourceField}" is not in ${file.key}, which has ${[...found].slice(0, 50).join(", ")}`,
  }));
  throw new AppError("SOURCE_INVALID", `The sample ${file.key} has no field ${names}.`, { issues });
}

/** Fields and types that the engine infers from one object, and its first rows. */
export async function discoverObject(
  file: ObjectFile | undefined,
  format: ObjectFormat | undefined,
  reading: ObjectStatements,
  { query, delimiter }: { readonly query: Query; readonly delimiter: string | undefined },
  signal: AbortSignal,
): Promise<Discovery> {
  if (file === undefined) throw new AppError("SOURCE_INVALID", "No object matches yet, so no field can be discovered.");
  if (format === undefined) throw new AppError("SOURCE_INVALID", "The format is not recognized; set `format`.");
  const { sql, ...rest } = await reading.describe(file, format, signal);
  const fields = await foundFieldsOf(await query(sql, rest), async (expression) => {
    const { sql: statement, ...others } = await reading.selectFirst(file, format, expression, discoveryRows, signal);
    return await query(statement, others);
  });
  return { fields, samples: await objectSamples({ file, format, reading, fields, query, delimiter }, signal) };
}

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

async function objectSamples(given: Reading, signal: AbortSignal): Promise<SampleRow[]> {
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

/** A document over several lines has lines that are not objects; a field over several has a quote that stays open. */
function isRow(line: string, format: ObjectFormat): boolean {
  if (format.startsWith("JSON")) return line.trimStart().startsWith("{");
  return !format.startsWith("CSV") || (line.split('"').length - 1) % 2 === 0;
}

async function parsedOnly({ file, format, reading, query }: Reading, signal: AbortSignal): Promise<SampleRow[]> {
  const { sql, ...rest } = await reading.selectFirst(file, format, "*", shownSamples, signal);
  const rows = await rowsOrProblem(() => query(sql, rest));
  return Array.isArray(rows) ? rows.map((parsed) => ({ parsed })) : [{ problem: rows }];
}
