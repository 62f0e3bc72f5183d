/** What lists of pipes show of the store, for all pipes at once: one query each, however many pipes there are. */
import type { PipeState } from "../../api/pipes.ts";
import { Store } from "../database/records.ts";
import { type Pipe, stateNow } from "./pipes.ts";

/** A pipe without its definition. */
export type PipeOverview = Pick<Pipe, "desiredState" | "generation" | "observedGeneration" | "resyncRequested"> & {
  readonly id: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly name: string;
  readonly sourceKind: string;
  readonly database: string | null;
  readonly table: string | null;
  readonly state: PipeState;
  /** Null: not recorded. */
  readonly stateChangedAt: string | null;
  /** Reason of the present state. */
  readonly stateMessage: string | null;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** What has last gone well and what has last gone wrong; null: nothing is recorded. */
export type PipeOutcome = {
  readonly lastSuccessAt: string | null;
  readonly lastError: { readonly message: string; readonly at: string } | null;
};

export type PipeNumbers = PipeOutcome & { readonly counters: Readonly<Record<string, number>> };

export const noNumbers: PipeNumbers = { counters: {}, lastSuccessAt: null, lastError: null };

type OverviewRow = Omit<PipeOverview, "database" | "table" | "resyncRequested"> & {
  readonly destination: string;
  readonly resyncRequested: number;
};
type OutcomeRow = {
  readonly pipe_id: string;
  readonly last_success_at: string | null;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
};

export class PipeOverviews extends Store {
  /** The pipes of an organization, without those whose deletion was requested; in no order. */
  async listIn(organizationId: string): Promise<PipeOverview[]> {
    const rows = await this.db.all<OverviewRow>(
      `SELECT pipes.id, service_id AS "serviceId", services.name AS "serviceName", pipes.name, source_kind AS "sourceKind",
         destination, pipes.state, pipes.state_changed_at AS "stateChangedAt", last_error AS "stateMessage",
         pipes.desired_state AS "desiredState", generation, observed_generation AS "observedGeneration",
         resync_requested AS "resyncRequested", generation + renames AS version,
         pipes.created_at AS "createdAt", pipes.updated_at AS "updatedAt"
       FROM pipes JOIN services ON services.id = service_id
       WHERE organization_id = ? AND pipes.desired_state <> 'deleted' AND services.desired_state <> 'deleted'`,
      organizationId,
    );
    const problem = this.db.problem();
    return rows.map(({ destination, resyncRequested, ...stored }) => {
      const { database, table } = JSON.parse(destination) as { database?: string; table?: string };
      const now = problem === undefined ? undefined : stateNow(stored.state, stored.stateMessage, problem);
      const row = now === undefined ? stored : { ...stored, state: now.state, stateMessage: now.lastError };
      return { ...row, resyncRequested: resyncRequested !== 0, database: database ?? null, table: table ?? null };
    });
  }

  /** Counters and outcomes of all pipes that have any, by pipe. */
  async numbers(): Promise<Map<string, PipeNumbers>> {
    const found = new Map<string, PipeNumbers & { counters: Record<string, number> }>();
    const of = (id: string) => found.get(id) ?? { ...noNumbers, counters: {} };
    const counts = await this.db.all<{ pipe_id: string; name: string; value: number }>("SELECT * FROM pipe_counters");
    for (const { pipe_id: id, name, value } of counts) {
      const numbers = of(id);
      numbers.counters[name] = value;
      found.set(id, numbers);
    }
    for (const row of await this.db.all<OutcomeRow>("SELECT * FROM pipe_outcomes")) {
      found.set(row.pipe_id, { ...of(row.pipe_id), ...toOutcome(row) });
    }
    return found;
  }

  /** Counters of every pipe of a service, by pipe. */
  async countersIn(serviceId: string): Promise<Map<string, Record<string, number>>> {
    const rows = await this.db.all<{ id: string; name: string; value: number }>(
      `SELECT pipe_id AS id, pipe_counters.name, value FROM pipe_counters JOIN pipes ON pipes.id = pipe_id
       WHERE service_id = ? ORDER BY pipe_id, pipe_counters.name`,
      serviceId,
    );
    const found = new Map<string, Record<string, number>>();
    for (const { id, name, value } of rows) {
      const counters = found.get(id) ?? {};
      counters[name] = value;
      found.set(id, counters);
    }
    return found;
  }
}

function toOutcome(row: OutcomeRow): PipeOutcome {
  const { last_error: message, last_error_at: at } = row;
  return { lastSuccessAt: row.last_success_at, lastError: message === null || at === null ? null : { message, at } };
}
