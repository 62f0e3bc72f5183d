/**
 * An INSERT with data in the request, or in a file that another process of this machine has written. A body that is
 * complete after a few MiB is spooled to memory, so it is inserted whole or not at all. A longer one streams through a
 * named pipe, and when its sender breaks off, the pipe is closed only after the engine has marked the query cancelled: the
 * rows in hand are dropped, as by a server.
 */
import { unlink, writeFile } from "node:fs/promises";
import { literal } from "../clickhouse/sql.ts";
import type { BodyFile } from "./body-files.ts";
import { insertFormat, type KillSwitch, type Run } from "./executor.ts";
import { openWriter, type PipeWriter } from "./fifo.ts";
import { valuesAreHarmless } from "./guard.ts";
import type { Summary } from "./reply.ts";
import type { InputCall, InsertStatement, Statement } from "./statement.ts";
import { Upload } from "./upload.ts";

/** Where the data of an INSERT is. */
export type InsertBody = Upload | BodyFile;

/** Bodies up to this size are received before the insert starts. */
const spoolBytes = 4 * 1_048_576;

/** VALUES data up to this size is searched for functions that may not be called. */
const searchedBytes = 262_144;

/**
 * Expressions in VALUES (`now()`, `1 + 2`) are parsed when the data was received whole and calls nothing forbidden.
 * Longer VALUES data must consist of literals.
 */
export async function insertSettings(
  statement: Statement,
  body: InsertBody | undefined,
): Promise<readonly [string, string][]> {
  if (!(body instanceof Upload) || statement.kind !== "insert" || !/^values$/i.test(statement.format)) return [];
  await body.hold(spoolBytes);
  if (!body.ended || !valuesAreHarmless(body.held, searchedBytes)) return [];
  return [
    ["input_format_values_interpret_expressions", "1"],
    ["input_format_values_deduce_templates_of_expressions", "1"],
  ];
}

export async function runInsert(
  run: Run,
  statement: InsertStatement,
  body: InsertBody,
  kill: KillSwitch,
): Promise<Summary> {
  if (body instanceof Upload) await body.hold(spoolBytes);
  run.signal.throwIfAborted();
  const written =
    statement.input === undefined
      ? await insertData(run, statement, body, kill)
      : await insertSelect(run, statement, statement.input, body, kill);
  return {
    readRows: written.rowsWritten,
    readBytes: written.bytesWritten,
    writtenRows: written.rowsWritten,
    writtenBytes: written.bytesWritten,
    resultRows: written.rowsWritten,
  };
}

async function insertData(run: Run, statement: InsertStatement, body: InsertBody, kill: KillSwitch) {
  if (!(body instanceof Upload)) return await run.engine.write(run.connection, insertSql(run, statement, body.path));
  return body.ended ? await insertSpooled(run, statement, body) : await insertStreamed(run, statement, body, kill);
}

/** Temporary, so it belongs to the connection alone and ends with it. */
const inputTable = "_millrace_input";

/**
 * `INSERT INTO t SELECT ... FROM input('structure')`: the engine has no stream of its own to read here, so the data is
 * parsed into a table in memory first, and selected from there.
 */
async function insertSelect(
  run: Run,
  statement: InsertStatement,
  { start, end, structure }: InputCall,
  body: InsertBody,
  kill: KillSwitch,
) {
  const drop = `DROP TEMPORARY TABLE IF EXISTS ${inputTable};`;
  const create = `CREATE TEMPORARY TABLE ${inputTable} ENGINE = Memory AS SELECT * FROM null(${literal(structure)})`;
  await run.engine.query(run.connection, `${run.prefix}${drop}${create}`, "Null");
  try {
    await insertData(run, { ...statement, target: `INSERT INTO ${inputTable} ` }, body, kill);
    run.signal.throwIfAborted();
    const { target, settings } = statement;
    const sql = `${target.slice(0, start)}${inputTable}${target.slice(end)} ${settings}`;
    return await run.engine.write(run.connection, sql);
  } finally {
    await run.engine.query(run.connection, drop, "Null");
  }
}

function insertSql(run: Run, statement: InsertStatement, path: string): string {
  const from = `FROM INFILE ${literal(path)}`;
  return `${run.prefix}${statement.target} ${from} ${statement.settings} FORMAT ${insertFormat(statement)}`;
}

async function insertSpooled(run: Run, statement: InsertStatement, upload: Upload) {
  const path = run.slot.spoolPath;
  await writeFile(path, upload.held, { mode: 0o600 });
  try {
    return await run.engine.write(run.connection, insertSql(run, statement, path));
  } finally {
    await unlink(path);
  }
}

async function insertStreamed(run: Run, statement: InsertStatement, upload: Upload, kill: KillSwitch) {
  let over = false;
  const insert = run.engine.write(run.connection, insertSql(run, statement, run.slot.inPath)).finally(() => {
    over = true;
  });
  // Awaited below; until then its rejection is not unhandled.
  insert.catch(() => {});
  const writer = await openWriter(run.slot.inPath, () => over);
  if (writer === undefined) return await insert;
  let failure: unknown;
  try {
    await pour(upload, writer, () => over);
  } catch (error) {
    failure = error;
    await kill.marked();
  }
  writer.close();
  if (failure === undefined) return await insert;
  // Its error would say only that it was cancelled, which was our doing.
  await insert.catch(() => {});
  throw failure;
}

/** Writes what has arrived while the piece before it was being written, until the data or the engine's interest ends. */
async function pour(upload: Upload, writer: PipeWriter, over: () => boolean): Promise<void> {
  for (let parts = await upload.take(); parts.length > 0 && !over(); parts = await upload.take()) {
    if (!(await writer.write(parts))) return;
    upload.used(parts);
  }
}
