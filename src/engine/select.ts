/** A SELECT: the engine writes the formatted rows into a named pipe, and they pass on to the client as they come. */
import { createReadStream } from "node:fs";
import { unlink, writeFile } from "node:fs/promises";
import { literal } from "../clickhouse/sql.ts";
import type { Run } from "./executor.ts";
import { finishReading, openReader } from "./fifo.ts";
import { clientQueryId } from "./guard.ts";
import { emptySummary, type Summary } from "./reply.ts";
import { type SelectStatement, withClientQueryIds } from "./statement.ts";

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
  const { engine, connection, slot, reply } = run;
  const sql = selectSql(run, statement, format, `${literal(slot.outPath)} APPEND`);
  const reader = openReader(slot.outPath);
  const closed = new Promise<void>((resolve) => reader.once("close", () => resolve()));
  reader.on("error", () => reader.destroy());
  reader.on("data", (chunk: Buffer) => {
    if (reply.write(chunk)) return;
    reader.pause();
    reply.onDrain(() => reader.resume());
  });
  // A closed pipe fails the engine's next write, which ends the query sooner than KILL QUERY would.
  const onAbort = () => reader.destroy();
  run.signal.addEventListener("abort", onAbort);
  try {
    const result = await engine.query(connection, sql, "Null");
    if (!reader.closed) finishReading(slot.outPath);
    await closed;
    run.signal.throwIfAborted();
    return { ...emptySummary, readRows: result.rowsRead, readBytes: result.bytesRead };
  } finally {
    run.signal.removeEventListener("abort", onAbort);
    reader.destroy();
    await closed;
  }
}
