/**
 * What must be there before the changes of tables are followed: the slot, the tables at the destination, and their rows
 * as a snapshot shows them.
 */
import type pg from "pg";
import type { Batch as SourceBatch, SourceContext } from "../../contract/source.ts";
import type { PostgresDurable } from "../declaration/durable.ts";
import type { SourceServer } from "../declaration/kind.ts";
import { connect } from "../server/connection.ts";
import { ofSource } from "../server/errors.ts";
import type { ResumeCheck } from "../server/resume-check.ts";
import { createSlot, type ExportedSnapshot, exportSnapshot, temporarySnapshot } from "../server/slot.ts";
import type { DestinationTables } from "../tables/destination.ts";
import type { TableState } from "../tables/table-states.ts";
import { type Copied, SnapshotCopy } from "./snapshot.ts";

type Batch = SourceBatch<PostgresDurable>;
type Context = SourceContext<PostgresDurable>;

export type TableCopierParts = {
  readonly server: SourceServer;
  readonly context: Context;
  readonly slot: string;
  readonly destination: DestinationTables;
  readonly resumeCheck: ResumeCheck;
};

export class TableCopier {
  readonly #parts: TableCopierParts;
  #copy: SnapshotCopy | undefined;

  constructor(parts: TableCopierParts) {
    this.#parts = parts;
  }

  /**
   * The rows of these tables. When it ends, those that were not stopped have all rows of a snapshot, and readers see
   * them. `reached`: the commit of the last transaction that is durable.
   */
  async *copy(states: readonly TableState[], reached: bigint, signal: AbortSignal): AsyncGenerator<Batch> {
    const connecting = connect(this.#parts.server);
    // Its failure is thrown where it is awaited, below.
    connecting.catch(() => {});
    let snapshot: ExportedSnapshot | undefined;
    try {
      snapshot = await this.#snapshot(reached);
      const tables: Copied[] = [];
      for (const state of states) tables.push(await this.#prepared(state, snapshot));
      this.#copy = new SnapshotCopy(this.#parts.server, this.#parts.context, tables);
      yield* this.#rows(this.#copy, states, await connecting, snapshot, signal);
      if (signal.aborted) return;
      for (const state of states.filter(({ isStopped }) => !isStopped)) {
        await this.#parts.destination.publish(state.plan, state.copyId);
        await state.loadedWith(snapshot.lsn);
      }
    } finally {
      await Promise.allSettled([snapshot?.close(), connecting.then((client) => client.end())]);
    }
  }

  acknowledge(batch: Batch): void {
    this.#copy?.acknowledge(batch);
  }

  /** Tables that are followed without having been copied. The pipe's own slot begins now. */
  async makeEmpty(states: readonly TableState[], ownSlot: boolean): Promise<void> {
    if (ownSlot && !(await isSlotMade(this.#parts.context))) await (await this.#createSlot()).close();
    for (const state of states) {
      await this.#parts.destination.prepare(state.plan, state.copyId);
      await this.#parts.destination.publish(state.plan, state.copyId);
      await state.completed("0/0");
    }
  }

  async #prepared(state: TableState, snapshot: ExportedSnapshot): Promise<Copied> {
    // Rows without a version must not come twice: from the copy, and from the stream. Others may be copied in several
    // snapshots, and what happened since the first one is wanted.
    if (state.plan.engine !== "ReplacingMergeTree" || !(await this.#isBegun(state))) {
      await state.skipChangesBefore(snapshot.lsn);
    }
    const { plan, copyId } = state;
    return { plan, copyId, ...(await this.#parts.destination.prepare(plan, copyId)) };
  }

  async #isBegun({ plan, copyId }: TableState): Promise<boolean> {
    const key = `cut:${plan.target}:${copyId}` as const;
    return (await this.#parts.context.ledger.marks([key])).has(key);
  }

  async *#rows(
    copy: SnapshotCopy,
    states: readonly TableState[],
    client: pg.Client,
    snapshot: ExportedSnapshot,
    signal: AbortSignal,
  ): AsyncGenerator<Batch> {
    try {
      const work = await copy.work(client);
      if (work.length === 0) return;
      for await (const batch of copy.read(work, snapshot, signal)) {
        const isStopped = states.some((state) => state.isStopped && isLaneOf(batch.lane, state));
        yield isStopped ? withoutInserts(batch, () => false) : batch;
      }
    } catch (error) {
      throw ofSource(error);
    }
  }

  /** The slot's own, the first time; then a later one, while the slot keeps everything since. */
  async #snapshot(reached: bigint): Promise<ExportedSnapshot> {
    const { server, context, resumeCheck } = this.#parts;
    if (server.config.settings?.replicationMode === "snapshot") return await exportSnapshot(server);
    if (await isSlotMade(context)) {
      const check = (client: pg.Client) => resumeCheck.check(client, reached);
      const snapshot = await temporarySnapshot(server, check, this.#tellWaiting);
      await resumeCheck.copies(snapshot.lsn);
      return snapshot;
    }
    return await this.#createSlot();
  }

  async #createSlot(): Promise<ExportedSnapshot> {
    const { server, context, slot, resumeCheck } = this.#parts;
    const failover = server.config.settings?.enableFailoverSlots === true;
    const snapshot = await createSlot(server, slot, failover, this.#tellWaiting);
    await resumeCheck.begins(snapshot.lineage, snapshot.lsn);
    await context.ledger.note({ [slotMark]: snapshot.lsn }, {});
    return snapshot;
  }

  readonly #tellWaiting = (message?: string) => this.#parts.context.progress.warn("transactions", message);
}

/** First position of the pipe's own slot. */
export const slotMark = "slot";

export async function isSlotMade(context: Context): Promise<boolean> {
  return (await context.ledger.marks([slotMark])).has(slotMark);
}

/** The same batch with these inserts only. The rows of the others are left out. */
export function withoutInserts(batch: Batch, isKept: (insert: Batch["inserts"][number]) => boolean): Batch {
  const left = batch.inserts.filter((insert) => !isKept(insert)).reduce((sum, { rows = 0 }) => sum + rows, 0);
  return { ...batch, inserts: batch.inserts.filter(isKept), skippedRows: (batch.skippedRows ?? 0) + left };
}

/** Lanes of a copy are named after the table and the copy. */
export function isLaneOf(lane: string, { plan, copyId }: TableState): boolean {
  return lane.startsWith(`snapshot:${plan.target}:${copyId}:`);
}
