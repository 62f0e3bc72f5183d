/** One statement that runs, from Run to its last row. */
import { open } from "../api/client.ts";
import { asApiError } from "../api/error.ts";
import { Store } from "../lib/store.ts";
import type { GridColumn, GridRow } from "../lib/values.ts";
import { brokenQuery, type QueryError, refusedQuery } from "./query-error.ts";
import { type Progress, readResult } from "./result-stream.ts";

export const maxRows = 10_000;
export const maxBytes = 64 * 1024 * 1024;
/** Pause between two drawings of a result that grows. */
const drawMs = 80;

export type RunState = {
  readonly status: "running" | "done" | "failed" | "cancelled";
  readonly statement: string;
  /** Empty for a statement without a result. */
  readonly columns: readonly GridColumn[];
  /** Grows in place; `rowCount` says how far it is. */
  readonly rows: readonly GridRow[];
  readonly rowCount: number;
  readonly progress: Progress | undefined;
  readonly startedAt: number;
  readonly elapsedMs: number;
  /** Why the result ended before its end. */
  readonly cutAt: "rows" | "bytes" | undefined;
  readonly writtenRows: number;
  readonly error: QueryError | undefined;
};

export type Statement = {
  readonly serviceId: string;
  readonly query: string;
  readonly params: Readonly<Record<string, string>>;
  /** It changes nothing, as if a reader had sent it. */
  readonly readonly?: boolean;
  /** `never`: it neither wakes the service nor keeps it awake. */
  readonly wake?: "never";
};

const settings = {
  output_format_json_quote_64bit_integers: true,
  output_format_json_quote_decimals: true,
  output_format_json_quote_denormals: true,
  interactive_delay: 100_000,
};

/** The body of a request for this statement. */
export function queryBody({ serviceId: _, params, ...rest }: Statement, format: string) {
  // `\N` is NULL, as in the engine's own client.
  const values = Object.entries(params).map(([name, value]) => [name, value === "\\N" ? null : value]);
  return { ...rest, params: Object.fromEntries(values), format, settings };
}

export class QueryRun {
  readonly state: Store<RunState>;
  readonly statement: Statement;
  readonly #ending = new AbortController();
  readonly #rows: GridRow[] = [];
  #next: RunState;
  #drawnAt = 0;

  constructor(statement: Statement) {
    this.statement = statement;
    this.#next = {
      status: "running",
      statement: statement.query,
      columns: [],
      rows: this.#rows,
      rowCount: 0,
      progress: undefined,
      startedAt: performance.now(),
      elapsedMs: 0,
      cutAt: undefined,
      writtenRows: 0,
      error: undefined,
    };
    this.state = new Store(this.#next);
  }

  /** Ends the query in the engine. */
  cancel(): void {
    if (this.#next.status === "running") this.#ending.abort();
  }

  /** Resolves when the statement has ended in any way; the state says how. */
  async run(): Promise<RunState> {
    const { serviceId } = this.statement;
    try {
      const body = queryBody(this.statement, "JSONCompactEachRowWithProgress");
      const response = await open("runQuery", { params: { serviceId }, body }, this.#ending.signal);
      this.#change({ writtenRows: writtenRows(response) });
      await this.#read(response);
      this.#end(this.#next.error === undefined ? "done" : "failed");
    } catch (error) {
      if (this.#ending.signal.aborted) this.#end("cancelled");
      else {
        this.#change({ error: refusedQuery(asApiError(error), this.statement.query) });
        this.#end("failed");
      }
    }
    return this.#next;
  }

  async #read(response: Response): Promise<void> {
    const format = response.headers.get("x-clickhouse-format");
    // A FORMAT clause of the statement: text that is shown as it is.
    if (format !== null && format !== "JSONCompactEachRowWithProgress") return await this.#readText(response, format);
    await readResult(response.body as ReadableStream<Uint8Array>, {
      onColumns: (columns) => this.#change({ columns }),
      onRow: (row) => {
        if (this.#rows.length < maxRows) this.#rows.push(row);
        else this.#change({ cutAt: "rows" });
      },
      onProgress: (progress) => this.#change({ progress }),
      onException: (text) => this.#change({ error: brokenQuery(text, this.statement.query) }),
      onBytes: (bytes) => {
        if (bytes > maxBytes) this.#change({ cutAt: "bytes" });
        this.#draw();
        return this.#next.cutAt === undefined;
      },
    });
  }

  async #readText(response: Response, format: string): Promise<void> {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length < maxBytes / 16) continue;
      this.#change({ cutAt: "bytes" });
      await reader.cancel();
      break;
    }
    for (const line of text.trimEnd().split("\n").slice(0, maxRows)) this.#rows.push([line]);
    this.#change({ columns: [{ name: format, type: "String" }] });
  }

  #change(change: Partial<RunState>): void {
    this.#next = { ...this.#next, ...change };
  }

  #draw(): void {
    const now = performance.now();
    const isFirst = this.#next.rowCount === 0 && this.#rows.length > 0;
    if (!isFirst && now - this.#drawnAt < drawMs) return;
    this.#drawnAt = now;
    this.#change({ rowCount: this.#rows.length, elapsedMs: now - this.#next.startedAt });
    this.state.set(this.#next);
  }

  #end(status: RunState["status"]): void {
    this.#change({ status, rowCount: this.#rows.length, elapsedMs: performance.now() - this.#next.startedAt });
    this.state.set(this.#next);
  }
}

function writtenRows(response: Response): number {
  try {
    return Number(
      (JSON.parse(response.headers.get("x-clickhouse-summary") ?? "{}") as { written_rows?: string }).written_rows ?? 0,
    );
  } catch {
    return 0;
  }
}
