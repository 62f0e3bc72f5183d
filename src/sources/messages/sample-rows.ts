/** Samples for people: the bytes as they arrive, beside the row that the engine makes of them. */
import { AppError } from "../../lib/errors.ts";
import type { FoundField, SampleRow } from "../contract/discovery.ts";
import type { Query } from "../contract/source.ts";
import { shortMessage } from "./engine-message.ts";
import { keptPayload } from "./message-batch.ts";
import { structureText } from "./plan.ts";
import { bytesLiteral } from "./probe.ts";

/** Maximum number of samples that are shown. */
export const shownSamples = 20;
/** Bytes of a raw sample that are shown. */
const shownBytes = 4_096;
const statementBytes = 64 * 2 ** 20;

export type RawRows = {
  readonly format: string;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly fields: readonly FoundField[];
  /** Precedes the rows: a schema, or the line of names. */
  readonly head: Buffer;
  /** The content of each row in the format, and its bytes as they arrived. */
  readonly rows: readonly { readonly content: Buffer; readonly raw: Buffer }[];
};

/** One sample for each row: a row that cannot be read has a problem, and does not affect the others. */
export async function parsedSamples(given: RawRows, query: Query): Promise<SampleRow[]> {
  const all = await parse(given, given.rows, query);
  if (Array.isArray(all) && all.length === given.rows.length) {
    return given.rows.map(({ raw }, at) => ({ raw: shownText(raw), parsed: all[at] as Record<string, unknown> }));
  }
  const samples: SampleRow[] = [];
  for (const row of given.rows) {
    const parsed = await parse(given, [row], query);
    const raw = shownText(row.raw);
    if (!Array.isArray(parsed)) samples.push({ raw, problem: parsed });
    else samples.push({ raw, ...(parsed[0] === undefined ? {} : { parsed: parsed[0] }) });
  }
  return samples;
}

export function shownText(bytes: Buffer): string {
  return keptPayload(bytes.subarray(0, shownBytes), bytes.length <= shownBytes).raw;
}

/** The rows, or the sentence of the engine. */
async function parse({ format, settings, fields, head }: RawRows, rows: RawRows["rows"], query: Query) {
  const content = bytesLiteral(Buffer.concat([head, ...rows.map((row) => row.content)]));
  const table = `format(${format}, ${structureLiteral(fields)}, ${content})`;
  return await rowsOrProblem(() =>
    query(`SELECT * FROM ${table}`, { settings: { ...settings, max_query_size: statementBytes, max_threads: 1 } }),
  );
}

/** Runs a query over samples: its rows, or the sentence of the engine that refuses them. */
export async function rowsOrProblem(
  work: () => Promise<Record<string, unknown>[]>,
): Promise<Record<string, unknown>[] | string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code === "SOURCE_INVALID") return shortMessage(error.message);
    throw error;
  }
}

function structureLiteral(fields: readonly FoundField[]): string {
  return bytesLiteral(Buffer.from(structureText(fields)));
}
