/** Pipes as the API shows them: the members that the user sent, without secrets and roles, and no defaults. */
import type { z } from "zod";
import { pipeDetails, pipeRecord } from "../../api/pipes.ts";
import type { JsonObject } from "../../lib/json.ts";
import { tableRowsPrefix } from "../../pipes/protocol.ts";
import { errorTableNameOf } from "../../sources/contract/destination.ts";
import { kindOf } from "../../sources/contract/registry.ts";
import type { TableProgress } from "../../sources/contract/several-tables.ts";
import type { Pipe } from "../../store/pipes/pipes.ts";
import { isActedOn, shownPipeState } from "./pipe-state.ts";
import { viewOf } from "./view-of.ts";

const recordView = viewOf(pipeRecord);
const detailsView = viewOf(pipeDetails);

type ShownMembers = Pick<z.input<typeof pipeRecord>, "destination" | "settings">;
type Shown = Omit<Pipe, keyof ShownMembers> & ShownMembers;

/** The stored definition is what the schemas of requests have accepted. */
function shownPipe(pipe: Pipe) {
  return { ...(pipe as unknown as Shown), state: shownPipeState(pipe) };
}

export function pipeRecordOf(pipe: Pipe) {
  return recordView(shownPipe(pipe));
}

type Counters = Readonly<Record<string, number>>;

/** Counters of rows that nothing has added to yet. */
const noRows = { fetchedRows: 0, sentRows: 0, refusedRows: 0, skippedRows: 0 } as const;

function shownDetails(pipe: Pipe) {
  const lastError = isActedOn(pipe) ? pipe.lastError : null;
  return { ...shownPipe(pipe), lastError, errorTable: errorTableNamed(pipe) };
}

/** A pipe in a list: the stored facts, without the gauges of running workers. */
export function listedPipeOf(pipe: Pipe, counters: Counters) {
  return detailsView({ ...shownDetails(pipe), progress: { ...noRows, ...ofWholePipe(counters) } });
}

/** What is known of a pipe besides its definition, its counters and its gauges. */
export type PipeFacts = {
  readonly tables?: readonly TableProgress[] | undefined;
  /** The source has lost what the pipe needs to go on. */
  readonly isLost: boolean;
  /** Undefined unless they were sealed with another key. */
  readonly needsSecrets?: readonly string[] | undefined;
  readonly sourceWarning: string | undefined;
};

export function pipeDetailsOf(pipe: Pipe, counters: Counters, gauges: Counters, facts: PipeFacts) {
  const { tables, needsSecrets, sourceWarning } = facts;
  const pending = gauges.filesPending ?? 0;
  const filesFound = (counters.filesLoaded ?? 0) + (counters.filesFailed ?? 0) + pending;
  const hasFiles = counters.filesLoaded !== undefined || gauges.filesPending !== undefined;
  return detailsView({
    ...shownDetails(pipe),
    needsResync: pipe.resyncRequested ? undefined : resyncOf(facts),
    needsSecrets,
    sourceWarning,
    tables: tables?.map((table) => tableOf(table, counters, gauges)),
    progress: { ...noRows, ...ofWholePipe(counters), ...gauges, ...(hasFiles ? { filesFound } : {}) },
  });
}

function resyncOf({ tables = [], isLost }: PipeFacts): { tables?: string[] } | undefined {
  if (isLost) return {};
  const stopped = tables.filter(({ state }) => state === "Stopped").map(({ sourceTable }) => sourceTable);
  return stopped.length === 0 ? undefined : { tables: stopped };
}

function tableOf(table: TableProgress, counters: Counters, { lagSeconds }: Counters) {
  const rows = counters[`${tableRowsPrefix}${table.targetTable}`] ?? 0;
  return { ...table, rows, ...(table.state === "Running" && lagSeconds !== undefined ? { lagSeconds } : {}) };
}

function ofWholePipe(counters: Counters): Counters {
  return Object.fromEntries(Object.entries(counters).filter(([name]) => !name.startsWith(tableRowsPrefix)));
}

/** The table of refused rows, which is named after the destination table, or after the first of several. */
function errorTableNamed({ sourceKind, source, destination }: Pipe): string {
  const { targets } = kindOf(sourceKind);
  const [table = ""] = targets?.(source[sourceKind] as JsonObject) ?? [destination.table ?? ""];
  return errorTableNameOf(table);
}
