/** What the commands start, stop and resync change in a pipe. */
import type { z } from "zod";
import type { pipeOperations } from "../../../api/pipes.ts";
import { AppError, badRequest } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ObjectSelection } from "../../../sources/contract/partial-resync.ts";
import { kindOf, kindsWith } from "../../../sources/contract/registry.ts";
import type { Pipe, PipeChange, PipeStore } from "../../../store/pipes/pipes.ts";

type Command = z.output<typeof pipeOperations.updatePipeState.body>;

/** `stop` is possible in every state, `start` in final and stopped states. Throws BAD_REQUEST. */
export async function commandedChange(pipe: Pipe, body: Command, pipes: PipeStore): Promise<PipeChange> {
  if (body.command === "resync") return await resync(pipe, body, pipes);
  for (const member of ["rows", "tables", "objects"] as const) {
    if (body[member] != null) throw badRequest(member, "is only for resync");
  }
  if (body.command === "stop") return { desiredState: "stopped" };
  const rests = ["Stopped", "Stopping", "Completed", "Failed", "InternalError"].includes(pipe.state);
  if (pipe.desiredState === "running" && !rests) {
    throw new AppError("BAD_REQUEST", `${pipe.name}: the pipe is already running`);
  }
  return { desiredState: "running" };
}

/** A database is copied into new tables; every other source is read again into the table that is there. */
async function resync(pipe: Pipe, { rows, tables, objects }: Command, pipes: PipeStore): Promise<PipeChange> {
  const kind = kindOf(pipe.sourceKind);
  if (kind.hasInbox) {
    throw badRequest(
      "command",
      "must not be resync: rows that are loaded are gone from the inbox, and cannot be read again",
    );
  }
  if (objects != null && kind.objectResync === undefined)
    throw badRequest("objects", `is only for ${kindsWith("objectResync")}`);
  const wanted = { desiredState: "running", resyncRequested: true } as const;
  if (kind.resync !== undefined) {
    if (rows != null) throw badRequest("rows", "must be absent: a database is copied into new tables");
    if (tables == null) return wanted;
    const resyncTables = [...new Set([...pipe.resyncTables, ...targetsOf(pipe, tables)])];
    return { desiredState: "running", resyncTables };
  }
  if (tables != null) throw badRequest("tables", `is only for ${kindsWith("resync")}: this pipe has one table`);
  if (rows == null) {
    throw badRequest("rows", "is required: keep (rows that are read again are there twice) or truncate");
  }
  if (objects != null) return await resyncObjects(pipe, rows, objects, pipes);
  if (rows === "truncate" && pipe.destination.managedTable === false) {
    const remedy = "Empty it first if its rows are not wanted";
    throw badRequest("rows", `must be keep: the pipe does not manage its table. ${remedy}`);
  }
  return { ...wanted, keepsRows: rows === "keep" };
}

/** The table has no record of which rows came from which object. */
async function resyncObjects(
  pipe: Pipe,
  rows: "keep" | "truncate",
  selection: ObjectSelection,
  pipes: PipeStore,
): Promise<PipeChange> {
  if (rows === "truncate") {
    const problem = "must be keep: rows of other objects are in the table, and cannot be told apart";
    throw badRequest("rows", `${problem}. Delete the unwanted ones first, for example by a column with _path`);
  }
  const { objectResync } = kindOf(pipe.sourceKind);
  if (objectResync !== undefined && !(await pipes.hasRead(pipe.id, selection, objectResync))) {
    const which = "key" in selection ? `named ${selection.key}` : `whose key begins with ${selection.prefix}`;
    throw badRequest("objects", `the pipe has read no object ${which}; keys do not begin with the bucket or a slash`);
  }
  return { desiredState: "running", resyncObjects: [...pipe.resyncObjects, selection] };
}

/** The destination tables of these tables of the source. */
function targetsOf({ sourceKind, source }: Pipe, tables: readonly string[]): string[] {
  const kind = kindOf(sourceKind);
  const config = source[sourceKind] as JsonObject;
  const problem = kind.resync?.problem(config);
  if (problem !== undefined) throw badRequest("tables", problem);
  const known = kind.tables?.(config, {}) ?? [];
  return tables.flatMap((table, index) => {
    const found = known.filter(({ sourceTable }) => sourceTable === table);
    if (found.length > 0) return found.map(({ targetTable }) => targetTable);
    const names = known.slice(0, 5).map(({ sourceTable }) => sourceTable);
    const rest = known.length > 5 ? ` and ${known.length - 5} more` : "";
    throw badRequest(`tables.${index}`, `${table} is not a table of this pipe, which has ${names.join(", ")}${rest}`);
  });
}
