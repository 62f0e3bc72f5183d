/**
 * Finds pipes that keep the event loop of a shared worker busy. One of them at a time is moved: it ends after its
 * batches in progress, and its next start gets a process of its own. Its later starts are like those of other pipes.
 */
import type { Tenant, Worker } from "./worker.ts";

/** Share of a processor from which an event loop counts as busy: above it neighbours wait for each other. */
const busyShare = 0.8;
/** A shorter load is not worth a restart. */
const busyMs = 10_000;
/** Between two moves of one pipe. */
const againMs = 600_000;

type Watched = Pick<Worker, "tenants" | "utilization" | "isLeaving">;
/** A busy worker: since when, and how much its tenants had loaded then. */
type Busy = { readonly since: number; readonly work: ReadonlyMap<Tenant, number> };

export class BusyWatch {
  readonly #most: number;
  readonly #busy = new Map<Watched, Busy>();
  /** Tenants that should end. */
  readonly #moving = new Set<Tenant>();
  /** Pipes whose next start gets a process of its own. */
  readonly #moved = new Set<string>();
  /** Times of moves, by pipe. */
  readonly #movedAt = new Map<string, number>();

  /** `most`: processors. More processes than that would not make anything faster. */
  constructor(most: number) {
    this.#most = most;
  }

  mustMove(tenant: Tenant): boolean {
    return this.#moving.has(tenant);
  }

  /** True once after a move of the pipe. */
  takeMoved(pipeId: string): boolean {
    return this.#moved.delete(pipeId);
  }

  /** The tenant that must move now. */
  look(workers: readonly Watched[], now: number): Tenant | undefined {
    const present = new Set(workers);
    for (const worker of this.#busy.keys()) if (!present.has(worker)) this.#busy.delete(worker);
    const tenants = new Set(workers.flatMap((worker) => worker.tenants));
    for (const tenant of this.#moving) if (!tenants.has(tenant)) this.#moving.delete(tenant);
    for (const [pipeId, at] of this.#movedAt) if (now - at >= againMs) this.#movedAt.delete(pipeId);
    for (const worker of workers) this.#watch(worker, now);
    if (this.#moving.size > 0 || this.#movedAt.size >= this.#most) return undefined;
    for (const worker of workers) {
      const busiest = this.#busiest(worker, now);
      if (busiest === undefined) continue;
      this.#busy.delete(worker);
      this.#moving.add(busiest);
      this.#moved.add(busiest.pipeId);
      this.#movedAt.set(busiest.pipeId, now);
      return busiest;
    }
    return undefined;
  }

  #watch(worker: Watched, now: number): void {
    if (worker.utilization < busyShare || worker.isLeaving) this.#busy.delete(worker);
    else if (!this.#busy.has(worker)) {
      this.#busy.set(worker, { since: now, work: new Map(worker.tenants.map((tenant) => [tenant, tenant.work])) });
    }
  }

  /** The tenant that has loaded most since its worker is busy, if it has neighbours. */
  #busiest(worker: Watched, now: number): Tenant | undefined {
    const busy = this.#busy.get(worker);
    if (busy === undefined || now - busy.since < busyMs || worker.tenants.length < 2) return undefined;
    const loaded = worker.tenants
      .filter(({ pipeId }) => !this.#movedAt.has(pipeId))
      .map((tenant) => ({ tenant, rows: tenant.work - (busy.work.get(tenant) ?? tenant.work) }))
      .filter(({ rows }) => rows > 0);
    return loaded.toSorted((one, other) => other.rows - one.rows)[0]?.tenant;
  }
}
