/** Pipes as the API shows them: the members that the user sent, without secrets and roles, and no defaults. */
import type { z } from "zod";
import type { pipeDetails, pipeRecord } from "../../api/pipes.ts";
import type { JsonObject } from "../../lib/json.ts";
import { tableRowsPrefix } from "../../pipes/protocol.ts";
import { errorTableNameOf } from "../../sources/contract/destination.ts";
import { kindOf } from "../../sources/contract/registry.ts";
import type { TableProgress } from "../../sources/contract/several-tables.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import { isActedOn, shownPipeState } from "./pipe-state.ts";

export function pipeRecordOf(pipe: Pipe): z.input<typeof pipeRecord> {
  return {
    id: pipe.id,
    serviceId: pipe.serviceId,
    name: pipe.name,
    state: shownPipeState(pipe),
    scaling: pipe.scaling,
    source: pipe.source,
    destination: pipe.destination as z.input<typeof pipeRecord>["destination"],
    fieldMappings: [...pipe.fieldMappings],
    settings: pipe.settings as z.input<typeof pipeRecord>["settings"],
    createdAt: pipe.createdAt,
    updatedAt: pipe.updatedAt,
  };
}

type Counters = Readonly<Record<string, number>>;

/** Counters of rows that nothing has added to yet. */
const noRows = { fetchedRows: 0, sentRows: 0, refusedRows: 0, skippedRows: 0 } as const;

/** The reason of a state that is shown. */
function errorOf(pipe: Pipe): { lastError?: string } {
  return pipe.lastError === null || !isActedOn(pipe) ? {} : { lastError: pipe.lastError };
}

/** In a list: the stored facts, without the gauges of running workers. */
export function listedPipeOf(pipe: Pipe, counters: Readonly<Record<string, number>>): z.input<typeof pipeDetails> {
  return {
    ...pipeRecordOf(pipe),
    version: pipe.version,
    ...errorOf(pipe),
    errorTable: errorTableNamed(pipe),
    progress: { ...noRows, ...ofWholePipe(counters) },
  };
}

export function pipeDetailsOf(
  pipe: Pipe,
  counters: Readonly<Record<string, number>>,
  gauges: Readonly<Record<string, number>>,
  tables: readonly TableProgress[] | undefined,
  sourceWarning?: string,
): z.input<typeof pipeDetails> {
  const pending = gauges.filesPending ?? 0;
  const filesFound = (counters.filesLoaded ?? 0) + (counters.filesFailed ?? 0) + pending;
  const files: Record<string, number> =
    counters.filesLoaded === undefined && gauges.filesPending === undefined ? {} : { filesFound };
  return {
    ...pipeRecordOf(pipe),
    version: pipe.version,
    ...errorOf(pipe),
    ...(sourceWarning === undefined ? {} : { sourceWarning }),
    errorTable: errorTableNamed(pipe),
    ...(tables === undefined ? {} : { tables: tables.map((table) => tableOf(table, counters, gauges)) }),
    progress: { ...noRows, ...ofWholePipe(counters), ...gauges, ...files },
  };
}

function tableOf(table: TableProgress, counters: Counters, { lagSeconds }: Counters) {
  const rows = counters[`${tableRowsPrefix}${table.targetTable}`] ?? 0;
  return { ...table, rows, ...(table.state === "Running" && lagSeconds !== undefined ? { lagSeconds } : {}) };
}

function ofWholePipe(counters: Counters): Counters {
  return Object.fromEntries(Object.entries(counters).filter(([name]) => !name.startsWith(tableRowsPrefix)));
}

/** Beside the destination table; of several tables, beside the first. */
function errorTableNamed({ sourceKind, source, destination }: Pipe): string {
  const { targets } = kindOf(sourceKind);
  const [table = ""] = targets?.(source[sourceKind] as JsonObject) ?? [destination.table ?? ""];
  return errorTableNameOf(table);
}
