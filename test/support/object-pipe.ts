/** An object storage pipe on a real engine without the control plane: the shared insert order, a ledger in memory. */
import { createErrorTableSql, createRejector } from "../../src/pipes/error-table.ts";
import { createInserter } from "../../src/pipes/insert.ts";
import { runPipe } from "../../src/pipes/runner.ts";
import type { ObjectStorageConfig } from "../../src/sources/object-storage/kind.ts";
import { objectStorageConnector } from "../../src/sources/object-storage/objects.ts";
import type { DestinationTable, SourceContext } from "../../src/sources/source.ts";
import type { ChartEngine } from "./chart-engine.ts";
import { DurableLedger } from "./describe-source.ts";

export type Column = { readonly name: string; readonly type: string; readonly sourceField?: string };

export type ObjectPipe = {
  readonly ledger: DurableLedger;
  readonly troubles: (string | undefined)[];
  readonly gauges: Record<string, number>[];
  readonly destination: DestinationTable;
  /** Runs until the source ends or the signal aborts. */
  run(signal?: AbortSignal): Promise<void>;
  /** Rows of the destination in the engine's TSV, by the given order. */
  rows(sql?: string): Promise<string>;
  errors(): Promise<string[]>;
};

let tables = 0;

/** A table of its own per pipe; the ledger survives several runs. */
export async function objectPipe(
  engine: ChartEngine,
  config: ObjectStorageConfig,
  columns: readonly Column[],
  options: { settings?: Record<string, number | boolean>; concurrency?: number; ledger?: DurableLedger } = {},
): Promise<ObjectPipe> {
  tables += 1;
  const table = `pipe_${tables}`;
  const list = columns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
  await engine.client.command(
    `CREATE TABLE ${table} (${list}) ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 10000`,
  );
  const destination: DestinationTable = {
    ...{ database: "default", table },
    columns: columns.map(({ name, type, sourceField }) => ({ name, type, sourceField: sourceField ?? name })),
  };
  await engine.client.command(createErrorTableSql(destination));
  const ledger = options.ledger ?? new DurableLedger();
  const troubles: (string | undefined)[] = [];
  const gauges: Record<string, number>[] = [];
  return {
    ...{ ledger, troubles, gauges, destination },
    run: async (signal = new AbortController().signal) => {
      const inserter = createInserter({
        ...{ signal, scrub: (text) => text, onTrouble: (reason) => troubles.push(reason) },
        acquire: async () => ({ socketPath: engine.socketPath, release: () => {} }),
      });
      const context: SourceContext = {
        ...{ pipeId: table, epoch: 0, settings: options.settings ?? {}, concurrency: options.concurrency ?? 2 },
        ...{ destination, marks: ledger.markReader, query: inserter.query },
        report: (values) => gauges.push({ ...values }),
        trouble: (reason) => troubles.push(reason),
        reject: createRejector(destination, inserter, (text) => text),
      };
      await using source = await objectStorageConnector.open(config, context, signal);
      await runPipe({
        ...{ source, ledger: ledger.port((_name, work) => work()), insert: inserter.insert, signal },
        ...{ tokenPrefix: `${table}:0`, concurrency: options.concurrency ?? 2 },
      });
      inserter.close();
    },
    rows: async (sql = `SELECT * FROM ${table} ORDER BY ALL`) =>
      (await engine.client.text(sql.replaceAll("{table}", table))).trimEnd(),
    errors: async () =>
      (await engine.client.rows(`SELECT * FROM ${table}_pipes_error ORDER BY origin, toUInt64OrZero(position)`)).map(
        ({ origin, position, message, raw }) => `${origin}|${position}|${String(message).split("\n")[0]}|${raw}`,
      ),
  };
}

/** Runs a pipe in the background until the condition holds, then stops it. */
export async function runUntil(pipe: ObjectPipe, condition: () => Promise<boolean>, limitMs = 30_000): Promise<void> {
  const abort = new AbortController();
  let failure: unknown;
  const running = pipe.run(abort.signal).catch((error) => {
    if (!abort.signal.aborted) failure = error;
  });
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (failure !== undefined) throw failure;
    if (Date.now() > deadline) throw new Error("the condition did not hold in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  abort.abort(new Error("stopped"));
  await running;
}
