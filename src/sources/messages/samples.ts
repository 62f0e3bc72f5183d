/**
 * Derives from a few messages, before a pipe runs, whether they fit its columns, and which fields and types they have.
 */
import { AppError, type Issue } from "../../lib/errors.ts";
import type { Discovery, FoundField, SampleRow } from "../contract/discovery.ts";
import type { Query, TargetTable } from "../contract/source.ts";
import { shortMessage } from "./engine-message.ts";
import type { RowEncoder, RowGroup } from "./formats/encoder.ts";
import { foundFieldsOf, inferenceSettings } from "./found-fields.ts";
import { hasPayload, type SourceMessage, type VirtualColumns } from "./message.ts";
import { contentOf, MessageBatch } from "./message-batch.ts";
import { pathSteps } from "./paths.ts";
import { messageFormatSettings, planRows, type RowFormat, type RowPlan } from "./plan.ts";
import { bytesLiteral, readAll } from "./probe.ts";
import { MessageRowWriter } from "./row-writer.ts";
import { parsedSamples, shownSamples, shownText } from "./sample-rows.ts";

export type Samples<M extends SourceMessage> = {
  readonly format: RowFormat;
  readonly virtualColumns: VirtualColumns<M>;
  readonly encoder: (plan: RowPlan<M>) => RowEncoder<M>;
  readonly messages: readonly M[];
  /** The origin of the samples, for error messages. */
  readonly origin: string;
};

const statementBytes = 64 * 2 ** 20;
const noTable: TargetTable = { database: "", table: "", columns: [] };

/** Throws SOURCE_INVALID naming each column whose field is missing or does not fit. */
export async function checkSamples<M extends SourceMessage>(
  samples: Samples<M>,
  destination: TargetTable,
  query: Query,
): Promise<void> {
  const { origin, virtualColumns } = samples;
  const { batch } = await batchOf(samples, destination);
  const [first] = batch.rejected;
  if (first !== undefined) throw invalid(`A sample of ${origin} cannot be read: ${first.message}`, []);
  if (batch.groups.length === 0) throw invalid(`${origin} holds no messages yet, so no sample can be validated.`, []);
  const failure = await problemOf(samples, destination, query);
  const columns = destination.columns.filter(({ sourceField }) => !Object.hasOwn(virtualColumns, sourceField));
  if (failure !== undefined) {
    const issues: Issue[] = [];
    for (const column of columns) {
      const problem = await problemOf(samples, { ...destination, columns: [column] }, query);
      if (problem === undefined) continue;
      const message = `field "${column.sourceField}" does not fit ${column.type} in ${origin}: ${problem}`;
      issues.push({ path: `destination.columns.${column.name}`, message });
    }
    const list = issues.map((issue) => issue.message).join("; ");
    throw invalid(`The sample does not fit: ${list || `${origin}: ${failure}`}`, issues);
  }
  const found = new Set((await describeSamples(samples, query)).map((field) => field.name));
  const missing = columns.filter((column) => !found.has(pathSteps(column.sourceField)[0] as string));
  if (missing.length === 0) return;
  const names = missing.map((column) => `"${column.sourceField}"`).join(", ");
  const known = [...found].slice(0, 50).join(", ");
  throw invalid(
    `The samples of ${origin} have no field ${names}.`,
    missing.map(({ sourceField }) => ({
      path: "fieldMappings",
      message: `field "${sourceField}" is not in ${origin}, which has ${known}`,
    })),
  );
}

/** Fields and types as the engine infers them. Throws SOURCE_INVALID when no sample can be read. */
export async function describeSamples<M extends SourceMessage>(
  samples: Samples<M>,
  query: Query,
): Promise<FoundField[]> {
  const { batch, encoder } = await batchOf(samples, noTable);
  const found = new Map<string, FoundField>();
  const known = batch.groups.length === 0 ? [] : knownFields(samples, encoder);
  for (const field of known) if (!found.has(field.name)) found.set(field.name, field);
  for (const { group, rows } of known.length > 0 ? [] : batch.groups) {
    const content = bytesLiteral(contentOf(group, rows));
    const format = messageFormatSettings(samples.format);
    const settings = { ...format, ...inferenceSettings, max_query_size: statementBytes };
    const table = `format(${samples.format}, ${content})`;
    const described = await query(`DESCRIBE TABLE ${table}`, { settings });
    const select = (expression: string) => query(`SELECT ${expression} FROM ${table}`, { settings });
    for (const field of await foundFieldsOf(described, select))
      if (!found.has(field.name)) found.set(field.name, field);
  }
  if (found.size > 0) return [...found.values()];
  const reason = batch.rejected[0]?.message ?? "there are no messages yet";
  throw invalid(`No field can be told from ${samples.origin}: ${reason}`, []);
}

/** The fields, and the first samples with the rows that the engine makes of them. Throws like `describeSamples`. */
export async function discoverSamples<M extends SourceMessage>(samples: Samples<M>, query: Query): Promise<Discovery> {
  const fields = await describeSamples(samples, query);
  const { messages, format, virtualColumns } = samples;
  const encoder = samples.encoder(planRows(noTable, format, virtualColumns));
  const shown = messages.filter(hasPayload).slice(0, shownSamples);
  const found: SampleRow[] = [];
  const groups = new Map<RowGroup, { readonly at: number; readonly content: Buffer; readonly raw: Buffer }[]>();
  for (const [at, message] of shown.entries()) {
    await encoder.prepare(message);
    const group = encoder.group(message);
    const rows = new MessageRowWriter();
    const problem = typeof group === "string" ? group : encoder.write(message, group, rows);
    const raw = message.bytes.subarray(message.start, message.end);
    if (problem !== undefined) found[at] = { raw: shownText(raw), problem };
    else if (typeof group !== "string") {
      groups.set(group, [...(groups.get(group) ?? []), { at, content: rows.content(), raw }]);
    }
  }
  for (const [{ head }, rows] of groups) {
    const parsed = await parsedSamples({ format, settings: messageFormatSettings(format), fields, head, rows }, query);
    for (const [index, { at }] of rows.entries()) found[at] = parsed[index] as SampleRow;
  }
  return { fields, samples: found };
}

/**
 * Fields known from the samples' schemas; empty where only rows describe them. The encoder is prepared for the samples.
 */
function knownFields<M extends SourceMessage>({ messages }: Samples<M>, encoder: RowEncoder<M>): FoundField[] {
  const groups = new Set(messages.map((message) => encoder.group(message)));
  return [...groups].flatMap((group) => (typeof group === "string" ? [] : (encoder.fields?.(group) ?? [])));
}

async function problemOf<M extends SourceMessage>(samples: Samples<M>, destination: TargetTable, query: Query) {
  const { batch } = await batchOf(samples, destination);
  const plan = planRows(destination, samples.format, samples.virtualColumns);
  for (const { group, rows } of batch.groups) {
    const { sql, settings } = readAll(plan, contentOf(group, rows));
    try {
      await query(sql, { settings });
    } catch (error) {
      if (error instanceof AppError && error.code === "SOURCE_INVALID") return shortMessage(error.message);
      throw error;
    }
  }
  return undefined;
}

async function batchOf<M extends SourceMessage>(samples: Samples<M>, destination: TargetTable) {
  const encoder = samples.encoder(planRows(destination, samples.format, samples.virtualColumns));
  const batch = new MessageBatch<M>({ encoder, origin: samples.origin, maxMessageBytes: Number.POSITIVE_INFINITY });
  for (const message of samples.messages) {
    await encoder.prepare(message);
    batch.add(message);
  }
  return { batch, encoder };
}

function invalid(message: string, issues: readonly Issue[]): AppError {
  return new AppError("SOURCE_INVALID", message, issues.length === 0 ? {} : { issues });
}
