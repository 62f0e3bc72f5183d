/** Reads the format JSONCompactEachRowWithProgress as it comes. */
import type { GridColumn, GridRow } from "../lib/values.ts";

export type Progress = {
  readonly readRows: number;
  readonly readBytes: number;
  /** 0: not known. */
  readonly totalRows: number;
  readonly elapsedMs: number;
};

export type ResultEvents = {
  onColumns(columns: GridColumn[]): void;
  onRow(row: GridRow): void;
  onProgress(progress: Progress): void;
  onException(message: string): void;
  /** Bytes of the result so far; false ends the reading. */
  onBytes(bytes: number): boolean;
};

/** Resolves at the end of the body, or when `onBytes` says so; rejects when the body is broken off. */
export async function readResult(body: ReadableStream<Uint8Array>, events: ResultEvents): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) readLine(line, events);
    if (!events.onBytes(bytes)) return await reader.cancel();
  }
  readLine(rest + decoder.decode(), events);
}

type Line = {
  readonly row?: GridRow;
  readonly meta?: GridColumn[];
  readonly exception?: string;
  readonly progress?: Readonly<Record<string, string>>;
};

function readLine(line: string, events: ResultEvents): void {
  if (line.trim() === "") return;
  const { row, meta, progress, exception } = JSON.parse(line) as Line;
  if (row !== undefined) events.onRow(row);
  else if (meta !== undefined) events.onColumns(meta);
  else if (progress !== undefined) events.onProgress(progressOf(progress));
  else if (exception !== undefined) events.onException(exception);
}

function progressOf(raw: Readonly<Record<string, string>>): Progress {
  const number = (name: string) => Number(raw[name] ?? 0);
  return {
    readRows: number("read_rows"),
    readBytes: number("read_bytes"),
    totalRows: number("total_rows_to_read"),
    elapsedMs: number("elapsed_ns") / 1e6,
  };
}
