/**
 * Pipes. `desired_state` and the definition are written by the HTTP handlers and raise `generation`; `state`,
 * `last_error` and `observed_generation` are written by the pipes supervisor alone.
 */
import { randomUUID } from "node:crypto";
import type { PipeState } from "../../api/pipes.ts";
import type { Json } from "../../lib/json.ts";
import type { ObjectResync, ObjectSelection } from "../../sources/contract/partial-resync.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { columnsOf, insertRow, readPlainJson, recordReader } from "../database/columns.ts";
import type { Database, Queries, StoredColumns } from "../database/database.ts";
import { keptList } from "../database/kept-list.ts";
import { type Limit, requireRoomForPipe } from "../database/limits.ts";
import { findRecord, listRecords, SealingStore, updateRows } from "../database/records.ts";
import type { Sealer } from "../database/secrets.ts";
import { type ExpectedVersions, pipeVersion, requireChanged, versionCondition } from "../database/versioned-rows.ts";
import { allLeases, type Leases } from "../nodes/leases.ts";
import { failErrorRequests } from "./error-requests.ts";
import { hasMarkOf, type PartialResyncs, startObjectsOver, startTablesOver } from "./partial-resyncs.ts";
import { writePipeState } from "./pipe-states.ts";

/** `resync_requested` of a pipe that starts over and keeps its rows; 1 without them, 0 for no request. */
const keeping = 2;

export type DesiredPipeState = "running" | "stopped" | "deleted";

type PipeRow = StoredColumns & {
  readonly service_id: string;
  readonly source_secrets: string | null;
  readonly generation: number;
  readonly renames: number;
  readonly resync_requested: number;
};

export type PipeDestination = {
  readonly database?: string;
  readonly table?: string;
  readonly managedTable?: boolean;
  readonly tableDefinition?: {
    readonly engine?: { readonly type?: string; readonly versionColumnId?: string; readonly columnIds?: string[] };
    readonly sortingKey?: string[];
    readonly partitionBy?: string;
    readonly primaryKey?: string;
  };
  readonly columns?: { readonly name: string; readonly type: string }[];
};

export type Pipe = {
  readonly id: string;
  readonly serviceId: string;
  readonly name: string;
  readonly sourceKind: string;
  /** The source as sent, without its secrets. */
  readonly source: Record<string, unknown>;
  readonly destination: PipeDestination;
  readonly fieldMappings: { readonly sourceField: string; readonly destinationField: string }[];
  readonly scaling: Record<string, number>;
  readonly settings: Record<string, number | boolean>;
  readonly desiredState: DesiredPipeState;
  /** Raised by every change. */
  readonly version: number;
  readonly generation: number;
  readonly observedGeneration: number;
  readonly state: PipeState;
  /** Null: not recorded. */
  readonly stateChangedAt: string | null;
  readonly lastError: string | null;
  readonly epoch: number;
  /** The pipe starts over as soon as its workers have ended. */
  readonly resyncRequested: boolean;
  /** The rows that are in its table then stay there. */
  readonly keepsRows: boolean;
  /** Destination tables that start over alone, as soon as the workers have ended. */
  readonly resyncTables: readonly string[];
  /** Objects that are loaded once more, from then on too. */
  readonly resyncObjects: readonly ObjectSelection[];
  readonly createdAt: string;
  readonly updatedAt: string;
};

export type NewPipe = Pick<
  Pipe,
  "serviceId" | "name" | "sourceKind" | "source" | "destination" | "fieldMappings" | "scaling" | "settings"
> & {
  readonly secrets: Record<string, unknown>;
  readonly roles: readonly string[] | undefined;
  /** Begins stopped, until it is started (default false). */
  readonly startPaused?: boolean;
};

export type PipeChange = Partial<
  Pick<
    Pipe,
    | "name"
    | "source"
    | "destination"
    | "fieldMappings"
    | "scaling"
    | "settings"
    | "desiredState"
    | "resyncRequested"
    | "keepsRows"
    | "resyncTables"
    | "resyncObjects"
  >
> & { readonly secrets?: Record<string, unknown> };

export class PipeStore extends SealingStore {
  readonly listAll: () => Promise<readonly Pipe[]>;
  readonly #leases: Leases;

  /** What the supervisor writes compares the fence of the pipe's lease, and fails with LEASE_LOST. */
  constructor(db: Database, sealer: Sealer, leases: Leases = allLeases("")) {
    super(db, sealer);
    this.listAll = keptList(db, () => listRecords(db, pipes, "ORDER BY created_at, id"));
    this.#leases = leases;
  }

  /** `accept` gets the other pipes of the service, and throws to refuse this one beside them. */
  async create(pipe: NewPipe, limit: Limit, accept: (others: readonly Pipe[]) => void = () => {}): Promise<string> {
    const id = randomUUID();
    await this.tellingOthers(async (tx) => {
      await requireRoomForPipe(tx, pipe.serviceId, limit);
      accept(await listIn(tx, pipe.serviceId));
      await this.#insert(tx, id, pipe);
    });
    return id;
  }

  /** Throws LIMIT_REACHED when the organization of the service may have no further pipe. */
  async requireRoom(serviceId: string, limit: Limit): Promise<void> {
    await requireRoomForPipe(this.db, serviceId, limit);
  }

  async #insert(tx: Queries, id: string, pipe: NewPipe): Promise<void> {
    const { secrets, startPaused = false, ...members } = pipe;
    const now = new Date().toISOString();
    await insertRow(tx, "pipes", {
      ...members,
      id,
      sourceSecrets: this.#seal(secrets, id),
      desiredState: startPaused ? "stopped" : "running",
      state: startPaused ? "Stopped" : "Provisioning",
      ...{ stateChangedAt: now, createdAt: now, updatedAt: now },
    });
  }

  async find(id: string): Promise<Pipe | undefined> {
    return await findRecord(this.db, pipes, "WHERE id = ?", id);
  }

  /** Does not find pipes whose deletion was requested. */
  async findIn(serviceId: string, id: string): Promise<Pipe | undefined> {
    const one = "WHERE id = ? AND service_id = ? AND desired_state <> 'deleted'";
    const pipe = await findRecord(this.db, pipes, one, id, serviceId);
    return pipe && asOfNow(pipe, this.db.problem());
  }

  async listIn(serviceId: string): Promise<readonly Pipe[]> {
    return (await listIn(this.db, serviceId)).map((pipe) => asOfNow(pipe, this.db.problem()));
  }

  /** Ids of the organization's pipes. */
  async idsIn(organizationId: string): Promise<string[]> {
    const rows = await this.db.all<{ id: string }>(
      "SELECT pipes.id FROM pipes JOIN services ON services.id = service_id WHERE organization_id = ?",
      organizationId,
    );
    return rows.map(({ id }) => id);
  }

  /** Pipes of one kind of source that are not to be deleted, with the organization of each. */
  async listOfKind(sourceKind: string): Promise<(Pipe & { readonly organizationId: string })[]> {
    const rows = await this.db.all<PipeRow & { organization_id: string }>(
      `SELECT pipes.*, services.organization_id FROM pipes JOIN services ON services.id = pipes.service_id
       WHERE source_kind = ? AND pipes.desired_state <> 'deleted'`,
      sourceKind,
    );
    return rows.map((row) => ({ ...toPipe(row), organizationId: row.organization_id }));
  }

  /** The source's secret members, decrypted; undefined when they were encrypted with another key. */
  async secrets(id: string): Promise<Record<string, unknown> | undefined> {
    const row = await this.db.get<PipeRow>("SELECT * FROM pipes WHERE id = ?", id);
    return row?.source_secrets ? this.sealer.tryOpen(row.source_secrets, id) : {};
  }

  #seal(secrets: Record<string, unknown>, id: string): string | null {
    return Object.keys(secrets).length === 0 ? null : this.sealer.seal(secrets, id);
  }

  /**
   * Called by HTTP handlers only: raises the version, and the generation unless only the name changes, which no worker
   * uses. `accept` gets the other pipes of the service, and throws to refuse the change beside them. Throws
   * PRECONDITION_FAILED.
   */
  async change(
    id: string,
    change: PipeChange,
    expected?: ExpectedVersions,
    accept?: (others: readonly Pipe[]) => void,
  ): Promise<void> {
    await this.tellingOthers(async (tx) => {
      if (accept !== undefined) {
        const row = await tx.get<PipeRow>("SELECT * FROM pipes WHERE id = ?", id);
        if (row !== undefined) accept((await listIn(tx, row.service_id)).filter((other) => other.id !== id));
      }
      await this.#change(tx, id, change, expected);
    });
  }

  async #change(db: Queries, id: string, change: PipeChange, expected: ExpectedVersions): Promise<void> {
    const { secrets, resyncRequested, keepsRows, ...members } = change;
    const given = Object.entries(
      columnsOf({
        ...members,
        sourceSecrets: secrets && this.#seal(secrets, id),
        resyncRequested: resyncRequested === true && keepsRows === true ? keeping : resyncRequested,
      }),
    );
    const isRename = given.every(([column]) => column === "name");
    const raised = isRename ? "renames = renames + 1" : "generation = generation + 1";
    const sets = [...given.map(([column]) => `${column} = ?`), raised, "updated_at = ?"];
    const condition = versionCondition(pipeVersion, expected);
    const changed = await db.run(
      `UPDATE pipes SET ${sets.join(", ")} WHERE id = ?${condition.sql}`,
      ...given.map(([, value]) => value),
      ...[new Date().toISOString(), id, ...condition.values],
    );
    await requireChanged(changed, "pipe", expected, () =>
      db.get(`SELECT ${pipeVersion} AS version FROM pipes WHERE id = ?`, id),
    );
  }

  /** Called by the pipes supervisor only. */
  async setState(id: string, state: PipeState, lastError: string | null, observedGeneration: number): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.#leases.require(tx, "pipe", id);
      await writePipeState(tx, id, { state, lastError, observedGeneration });
    });
  }

  /** Called by the pipes supervisor only. */
  async remove(id: string): Promise<void> {
    // The process that removes the service waits for it.
    await this.tellingOthers(async (tx) => {
      await this.#leases.require(tx, "pipe", id);
      await tx.run("DELETE FROM pipes WHERE id = ?", id);
      await tx.run("DELETE FROM leases WHERE kind = 'pipe' AND id = ?", id);
    });
  }

  /**
   * Starts the pipe over: deletes positions and marks, and raises the epoch so that no old token suppresses a row. When
   * it keeps its rows, `begunMark` is left, with which no worker empties the table. Pending requests for its refused
   * rows fail: the intents that make them exact are gone, and the rows are read again.
   */
  async startOver(id: string, begunMark: string): Promise<void> {
    await this.db.transaction(async (tx: Queries) => {
      await this.#leases.require(tx, "pipe", id);
      for (const table of ["pipe_checkpoints", "pipe_intents", "pipe_marks"]) {
        await tx.run(`DELETE FROM ${table} WHERE pipe_id = ?`, id);
      }
      await failErrorRequests(tx, id, "The pipe was started over by the command resync.");
      await tx.run(
        `INSERT INTO pipe_marks (pipe_id, mark_key, mark)
         SELECT id, ?, CAST(epoch + 1 AS TEXT) FROM pipes WHERE id = ? AND resync_requested = ?`,
        ...[begunMark, id, keeping],
      );
      await tx.run(
        `UPDATE pipes SET epoch = epoch + 1, generation = generation + 1, resync_requested = 0,
           resync_tables = NULL, resync_objects = NULL WHERE id = ?`,
        id,
      );
    });
  }

  /** Carries out requests to load tables or objects again. No worker may run. */
  async startPartsOver(id: string, kind: PartialResyncs): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.#leases.require(tx, "pipe", id);
      const pipe = await findRecord(tx, pipes, "WHERE id = ?", id);
      if (pipe === undefined) return;
      const { resyncTables, resyncObjects } = pipe;
      if (kind.resync !== undefined) await startTablesOver(tx, id, resyncTables, kind.resync);
      if (kind.objectResync !== undefined) await startObjectsOver(tx, id, resyncObjects, kind.objectResync);
      await updateRows(tx, "pipes", { id }, { resyncTables: null, resyncObjects: null });
    });
  }

  /** Whether the pipe has read one of these objects. */
  async hasRead(id: string, selection: ObjectSelection, resync: ObjectResync): Promise<boolean> {
    return await hasMarkOf(this.db, id, selection, resync);
  }

  /** The marks of the ledger whose keys begin like this, as they are stored. */
  async marksFrom(id: string, prefix: string): Promise<Record<string, Json>> {
    const rows = await this.db.all<{ mark_key: string; mark: string }>(
      "SELECT mark_key, mark FROM pipe_marks WHERE pipe_id = ? AND substr(mark_key, 1, ?) = ?",
      ...[id, prefix.length, prefix],
    );
    return Object.fromEntries(rows.map((row) => [row.mark_key, JSON.parse(row.mark) as Json]));
  }

  async counters(id: string): Promise<Record<string, number>> {
    const rows = await this.db.all<{ name: string; value: number }>(
      "SELECT name, value FROM pipe_counters WHERE pipe_id = ? ORDER BY name",
      id,
    );
    return Object.fromEntries(rows.map((row) => [row.name, row.value]));
  }
}

async function listIn(db: Queries, serviceId: string): Promise<readonly Pipe[]> {
  const all = "WHERE service_id = ? AND desired_state <> 'deleted' ORDER BY created_at, id";
  return await listRecords(db, pipes, all, serviceId);
}

const working: readonly Pipe["state"][] = ["Running", "Snapshot", "Resync"];

/** While nothing can be written, the stored state of a pipe that worked is the one from before. */
function asOfNow(pipe: Pipe, problem: string | undefined): Pipe {
  return problem === undefined ? pipe : { ...pipe, ...stateNow(pipe.state, pipe.lastError, problem) };
}

/** The state with its reason, while nothing can be written. */
export function stateNow(state: Pipe["state"], lastError: string | null, problem: string) {
  return working.includes(state) ? { state: "Degraded" as const, lastError: problem } : { state, lastError };
}

const storedMembers = recordReader<Omit<Pipe, "version" | "keepsRows">>()(
  [
    "id serviceId name sourceKind source destination fieldMappings scaling settings desiredState generation",
    "observedGeneration state stateChangedAt lastError epoch resyncRequested resyncTables resyncObjects createdAt updatedAt",
  ],
  {
    source: readPlainJson,
    destination: readPlainJson,
    fieldMappings: readPlainJson,
    scaling: readPlainJson,
    settings: readPlainJson,
    resyncRequested: (kind: number) => kind !== 0,
    resyncTables: (json: string | null) =>
      readJson(columnShapes.resyncTables, json ?? "[]", "tables to be copied again"),
    resyncObjects: (json: string | null) =>
      readJson(columnShapes.resyncObjects, json ?? "[]", "objects to be loaded again"),
  },
);

const pipes = { table: "pipes", read: toPipe };

function toPipe(row: PipeRow): Pipe {
  const version = row.generation + row.renames;
  return { ...storedMembers(row), version, keepsRows: row.resync_requested === keeping };
}
