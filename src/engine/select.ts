/** A SELECT: the engine writes the formatted rows into a named pipe, and they pass on to the client as they come. */
import { literal } from "../clickhouse/sql.ts";
import type { Run } from "./executor.ts";
import { finishReading, openReader } from "./fifo.ts";
import { clientQueryId } from "./guard.ts";
import { emptySummary, type Summary } from "./reply.ts";
import { type SelectStatement, withClientQueryIds } from "./statement.ts";

export async function runSelect(run: Run, statement: SelectStatement, format: string): Promise<Summary> {
  const { engine, connection, slot, reply } = run;
  const clause = `INTO OUTFILE ${literal(slot.outPath)} APPEND`;
  const after = statement.format === undefined ? ` FORMAT ${format}` : ` ${statement.after}`;
  const sql = `${run.prefix}${withClientQueryIds(statement.before, clientQueryId)} ${clause}${after}`;
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
