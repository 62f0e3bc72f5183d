/** A SELECT: the engine writes the formatted rows into a named pipe, and they pass on to the client as they come. */
import { createReadStream } from "node:fs";
import { unlink, writeFile } from "node:fs/promises";
import { literal } from "../clickhouse/sql.ts";
import { settledWithin } from "../lib/within.ts";
import type { Run } from "./executor.ts";
import { finishReading, openReader, readRest, streamOf } from "./fifo.ts";
import { clientQueryId } from "./guard.ts";
import { emptySummary, type Summary } from "./reply.ts";
import { type SelectStatement, withClientQueryIds } from "./statement.ts";

/**
 * A query that ends within this time is short: its rows are in the pipe, and are read at once when it is over. Following a
 * pipe wakes this thread several times, which for a small query is more work than the rest of the answer.
 */
const shortMs = 3;

export async function runSelect(run: Run, statement: SelectStatement, format: string): Promise<Summary> {
  return run.request.waitEndOfQuery ? await spooled(run, statement, format) : await streamed(run, statement, format);
}

function selectSql(run: Run, statement: SelectStatement, format: string, outfile: string): string {
  const after = statement.format === undefined ? ` FORMAT ${format}` : ` ${statement.after}`;
  return `${run.prefix}${withClientQueryIds(statement.before, clientQueryId)} INTO OUTFILE ${outfile}${after}`;
}

/** `wait_end_of_query`: the whole result is kept in the run directory before the first byte leaves. */
async function spooled(run: Run, statement: SelectStatement, format: string): Promise<Summary> {
  const { spoolPath } = run.slot;
  await writeFile(spoolPath, "", { mode: 0o600 });
  try {
    const sql = selectSql(run, statement, format, `${literal(spoolPath)} TRUNCATE`);
    const result = await run.engine.query(run.connection, sql, "Null");
    run.signal.throwIfAborted();
    const summary = { ...emptySummary, readRows: result.rowsRead, readBytes: result.bytesRead };
    run.reply.setSummary(summary);
    for await (const chunk of createReadStream(spoolPath, { highWaterMark: 262_144 }) as AsyncIterable<Buffer>) {
      if (!run.reply.write(chunk)) await drained(run);
    }
    return summary;
  } finally {
    await unlink(spoolPath);
  }
}

/** Waits until the client has taken what was sent, or is gone. */
async function drained(run: Run): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(run.signal.reason);
    run.signal.addEventListener("abort", onAbort);
    run.reply.onDrain(() => {
      run.signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}

async function streamed(run: Run, statement: SelectStatement, format: string): Promise<Summary> {
  const { engine, connection, slot } = run;
  const sql = selectSql(run, statement, format, `${literal(slot.outPath)} APPEND`);
  const fd = openReader(slot.outPath);
  const query = engine.query(connection, sql, "Null");
  const over = await settledWithin(query, shortMs);
  if (!over || !readRest(fd, (chunk) => run.reply.write(chunk))) await follow(run, fd, query);
  const result = await query;
  run.signal.throwIfAborted();
  return { ...emptySummary, readRows: result.rowsRead, readBytes: result.bytesRead };
}

/** Passes rows on while the query runs. Resolves when the last is on its way, or the query has failed. */
async function follow(run: Run, fd: number, query: Promise<unknown>): Promise<void> {
  const { slot, reply } = run;
  const reader = streamOf(fd);
  const closed = new Promise<void>((resolve) => reader.once("close", () => resolve()));
  reader.on("error", () => reader.destroy());
  reader.on("data", (chunk: Buffer) => {
    if (reply.write(chunk)) return;
    reader.pause();
    reply.onDrain(() => reader.resume());
  });
  // A closed pipe fails the engine's next write, which ends the query sooner than KILL QUERY would.
  const onAbort = () => reader.destroy();
  if (run.signal.aborted) onAbort();
  else run.signal.addEventListener("abort", onAbort);
  try {
    await query;
    if (!reader.closed) finishReading(slot.outPath);
    await closed;
  } finally {
    run.signal.removeEventListener("abort", onAbort);
    reader.destroy();
    await closed;
  }
}
