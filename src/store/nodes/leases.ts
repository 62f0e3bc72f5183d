/**
 * Who runs what: each pipe, service and task of the installation has one holder, and a fence that grows with every
 * holder. What the holder writes about it compares the fence in its own transaction, so that a process that was
 * suspended, or cut off, changes nothing after another one has taken over. Only the database's clock counts; the holder
 * itself stops earlier, by its own clock. See `docs/decisions/0017-leases.md`.
 */
import { AppError } from "../../lib/errors.ts";
import { type Database, type Queries, runAndTell } from "../database/database.ts";
import { type LiveNode, leaseMs, liveNodes, type PipeSelection } from "./nodes.ts";

/** `singleton`: a task that one process of the installation carries out. */
export type LeaseKind = "pipe" | "service" | "singleton";

export interface Leases {
  readonly nodeId: string;
  /** False from the loss of the lease, or its end by the own clock, until it is claimed again. */
  holds(kind: LeaseKind, id: string): boolean;
  /** Grows with every process that has the lease; 0: this one does not. */
  fenceOf(kind: LeaseKind, id: string): number;
  /** Throws LEASE_LOST unless this process has the lease; none can take it until the transaction ends. */
  require(tx: Queries, kind: LeaseKind, id: string): Promise<void>;
  /** Those whose lease this process does not have; none can take one of the others until the transaction ends. */
  lost(tx: Queries, kind: LeaseKind, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those that no other process has. */
  free(kind: LeaseKind, ids: readonly string[]): Promise<string[]>;
  /** Takes those that no other process has; returns them. */
  claim(kind: LeaseKind, ids: readonly string[]): Promise<string[]>;
  /** Others may take them at once. */
  release(kind: LeaseKind, ids: readonly string[]): Promise<void>;
  /** False for a process that has the database for itself. */
  readonly isShared: boolean;
  /** True of the id of another process' data directory. */
  isElsewhere(nodeId: string | null): boolean;
  /** Where that process can be reached, as seen last; undefined: it is gone, or this one. */
  addressOf(nodeId: string | null): string | undefined;
  /** The relay of that process for gateways, as `host:port`, as seen last; undefined: it has none, or is gone. */
  relayOf(nodeId: string): string | undefined;
  /** From now on the others count on this process: it runs its share of the pipes of external services. */
  join(): Promise<void>;
  /** From now on the others do not count on this process: it runs no pipes of theirs. */
  leave(): Promise<void>;
  /** The processes that share the database, this one included; empty when it has the database for itself. */
  peers(): Promise<LiveNode[]>;
  /** Called at once when leases are lost, or about to end without a renewal. */
  onLost(listener: () => void): void;
}

/** The leases of a process that has the database for itself: it holds everything, with the fence of its node. */
export function allLeases(nodeId: string, fence = 1): Leases {
  return {
    nodeId,
    holds: () => true,
    fenceOf: () => fence,
    require: async () => {},
    lost: async () => new Set(),
    free: async (_kind, ids) => [...ids],
    claim: async (_kind, ids) => [...ids],
    release: async () => {},
    isShared: false,
    isElsewhere: () => false,
    addressOf: () => undefined,
    relayOf: () => undefined,
    join: async () => {},
    leave: async () => {},
    peers: async () => [],
    onLost: () => {},
  };
}

/** True in the one process that carries out this task of the installation: it takes the task when nobody has it. */
export async function isLedHere(leases: Leases, task: string): Promise<boolean> {
  if (leases.holds("singleton", task)) return true;
  if ((await leases.free("singleton", [task])).length === 0) return false;
  return (await leases.claim("singleton", [task])).length > 0;
}

/** How long before the end of a lease its holder stops, if it could not renew it. */
const marginMs = 5_000;
/** Rows of one statement. */
const mostRows = 200;

type Row = { readonly kind: LeaseKind; readonly id: string; readonly fence: number };

export type SharedLeasesOptions = {
  readonly db: Database;
  readonly nodeId: string;
  /** Pipes of external services that this process runs at most; default: no limit. */
  readonly slots?: number | undefined;
  /** Which of them; default: all. */
  readonly takes?: PipeSelection | undefined;
  /** The own clock, in ms: replaced in tests. */
  readonly now?: () => number;
};

/** The leases of a process among others. Renew them every `renewEveryMs`. */
export class SharedLeases implements Leases {
  readonly nodeId: string;
  readonly #db: Database;
  readonly #slots: number | undefined;
  readonly #takes: PipeSelection;
  readonly #now: () => number;
  readonly isShared = true;
  /** As read last. */
  #peers: readonly LiveNode[] = [];
  readonly #held = new Map<string, number>();
  /** Released together by the next transaction. */
  #leaving: { readonly kind: LeaseKind; readonly id: string }[] = [];
  #releasing: Promise<void> | undefined;
  readonly #listeners: (() => void)[] = [];
  /** By the own clock: not held any longer, unless renewed. */
  #until = 0;
  #alarm: NodeJS.Timeout | undefined;

  constructor({ db, nodeId, slots, takes = {}, now = () => performance.now() }: SharedLeasesOptions) {
    this.#db = db;
    this.#slots = slots;
    this.#takes = takes;
    this.nodeId = nodeId;
    this.#now = now;
  }

  holds(kind: LeaseKind, id: string): boolean {
    return this.#held.has(keyOf(kind, id)) && this.#now() < this.#until;
  }

  fenceOf(kind: LeaseKind, id: string): number {
    return this.#held.get(keyOf(kind, id)) ?? 0;
  }

  async require(tx: Queries, kind: LeaseKind, id: string): Promise<void> {
    if ((await this.lost(tx, kind, [id])).has(id)) throw leaseLost(kind);
  }

  async lost(tx: Queries, kind: LeaseKind, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const lost = new Set(ids);
    for (let at = 0; at < ids.length; at += mostRows) {
      const some = padded(ids.slice(at, at + mostRows));
      const among = some.map(() => "?").join(", ");
      const rows = await tx.all<Row>(
        `SELECT kind, id, fence FROM leases WHERE kind = ? AND holder = ? AND id IN (${among}) ORDER BY id FOR SHARE`,
        ...[kind, this.nodeId, ...some],
      );
      for (const { id, fence } of rows) if (this.#held.get(keyOf(kind, id)) === fence) lost.delete(id);
    }
    return lost;
  }

  async free(kind: LeaseKind, ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const rows = await this.#db.all<{ id: string }>(
      `SELECT id FROM leases WHERE kind = ? AND holder <> ? AND expires_at >= ${this.#db.nowMs}`,
      ...[kind, this.nodeId],
    );
    const taken = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !taken.has(id));
  }

  async claim(kind: LeaseKind, ids: readonly string[]): Promise<string[]> {
    const claimed: string[] = [];
    const sorted = [...ids].sort();
    for (let at = 0; at < sorted.length; at += mostRows) {
      claimed.push(...(await this.#claimSome(kind, sorted.slice(at, at + mostRows))));
    }
    return claimed;
  }

  async #claimSome(kind: LeaseKind, ids: readonly string[]): Promise<string[]> {
    const began = this.#now();
    const expires = `${this.#db.nowMs} + ${leaseMs}`;
    const rows = await this.#db.transaction((tx) =>
      tx.all<Row>(
        `INSERT INTO leases (kind, id, holder, fence, expires_at)
         VALUES ${ids.map(() => `(?, ?, ?, 1, ${expires})`).join(", ")}
         ON CONFLICT (kind, id) DO UPDATE
           SET holder = excluded.holder, fence = leases.fence + 1, expires_at = excluded.expires_at
           WHERE leases.holder = excluded.holder OR leases.expires_at < ${this.#db.nowMs}
         RETURNING kind, id, fence`,
        ...ids.flatMap((id) => [kind, id, this.nodeId]),
      ),
    );
    for (const { id, fence } of rows) this.#held.set(keyOf(kind, id), fence);
    // Those that are held already may end earlier.
    if (this.#held.size === rows.length) this.#holdUntil(began);
    return rows.map(({ id }) => id);
  }

  /**
   * Renews what is held, in one transaction. Leases that others have taken are lost. What this process has stopped by
   * its own clock ends: renewed, nobody would ever run it if this process now had its share without it.
   */
  async renew(): Promise<void> {
    const began = this.#now();
    const held = this.#heldByKind();
    const rows = await this.#db.transaction(async (tx) => {
      const renewed = held.map(({ kind, ids }) => renewSome(tx, this.#db.nowMs, { holder: this.nodeId, kind, ids }));
      return (await Promise.all(renewed)).flat();
    });
    const fences = new Map(rows.map(({ kind, id, fence }) => [keyOf(kind, id), fence]));
    const asked = new Set(held.flatMap(({ kind, ids }) => ids.map((id) => keyOf(kind, id))));
    const gone = [...this.#held].filter(([key, fence]) => asked.has(key) && fences.get(key) !== fence);
    for (const [key] of gone) this.#held.delete(key);
    this.#holdUntil(began);
    if (gone.length > 0) this.#tell();
  }

  /** In parts that fit a statement. */
  #heldByKind(): { readonly kind: LeaseKind; readonly ids: readonly string[] }[] {
    const keys = [...this.#held.keys()].sort().map(partsOf);
    return [...Map.groupBy(keys, ({ kind }) => kind)].flatMap(([kind, all]) =>
      Array.from({ length: Math.ceil(all.length / mostRows) }, (_, at) => ({
        kind,
        ids: all.slice(at * mostRows, (at + 1) * mostRows).map(({ id }) => id),
      })),
    );
  }

  async release(kind: LeaseKind, ids: readonly string[]): Promise<void> {
    const own = ids.filter((id) => this.#held.delete(keyOf(kind, id)));
    if (own.length === 0) return;
    this.#leaving.push(...own.map((id) => ({ kind, id })));
    this.#releasing ??= this.#releaseTogether();
    await this.#releasing;
  }

  /** What is released while the transaction waits for its turn joins it: a process that stops releases many at once. */
  async #releaseTogether(): Promise<void> {
    const leaving = this.#leaving;
    const begin = () => {
      if (this.#leaving !== leaving) return;
      this.#leaving = [];
      this.#releasing = undefined;
    };
    try {
      await this.#db.transaction(async (tx) => {
        begin();
        for (const [kind, some] of Map.groupBy(leaving, (one) => one.kind)) {
          const among = some.map(() => "?").join(", ");
          await tx.run(
            `UPDATE leases SET expires_at = 0 WHERE holder = ? AND kind = ? AND id IN (${among})`,
            ...[this.nodeId, kind, ...some.map(({ id }) => id)],
          );
        }
        await this.#db.tellOthers(tx);
      });
    } finally {
      // Also when it could not begin: what is claimed again later must not be released then.
      begin();
    }
  }

  /** Everything that this process has. */
  async releaseAll(): Promise<void> {
    clearTimeout(this.#alarm);
    this.#held.clear();
    await runAndTell(this.#db, "UPDATE leases SET expires_at = 0 WHERE holder = ? AND expires_at > 0", this.nodeId);
  }

  isElsewhere(nodeId: string | null): boolean {
    return nodeId !== null && nodeId !== this.nodeId;
  }

  async join(): Promise<void> {
    const { kinds, sizes } = this.#takes;
    const change = "UPDATE nodes SET slots = ?, pipe_kinds = ?, pipe_sizes = ? WHERE id = ?";
    const values = [this.#slots ?? null, kinds?.join(",") ?? null, sizes ?? null, this.nodeId];
    await runAndTell(this.#db, change, ...values);
  }

  async leave(): Promise<void> {
    // Not told: there is nothing to take before the releases that follow, whose look would have to wait.
    await this.#db.run("UPDATE nodes SET slots = 0 WHERE id = ?", this.nodeId);
  }

  async peers(): Promise<LiveNode[]> {
    const peers = await liveNodes(this.#db);
    this.#peers = peers;
    return peers;
  }

  addressOf(nodeId: string | null): string | undefined {
    if (!this.isElsewhere(nodeId)) return undefined;
    return this.#peers.find(({ id }) => id === nodeId)?.address;
  }

  relayOf(nodeId: string): string | undefined {
    return this.#peers.find(({ id }) => id === nodeId)?.relay;
  }

  onLost(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #holdUntil(began: number): void {
    this.#until = began + leaseMs - marginMs;
    clearTimeout(this.#alarm);
    this.#alarm = setTimeout(() => this.#expire(), this.#until - this.#now()).unref();
  }

  /** No renewal has succeeded: everything may be taken over soon, and is left before that. */
  #expire(): void {
    if (this.#now() < this.#until) {
      // The timer was early.
      this.#holdUntil(this.#until - leaseMs + marginMs);
      return;
    }
    this.#held.clear();
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

type Some = { readonly holder: string; readonly kind: LeaseKind; readonly ids: readonly string[] };

/** Returns the rows that the holder still has. */
function renewSome(tx: Queries, nowMs: string, { holder, kind, ids }: Some): Promise<readonly Row[]> {
  const some = padded(ids);
  return tx.all<Row>(
    `UPDATE leases SET expires_at = ${nowMs} + ${leaseMs}
     WHERE holder = ? AND kind = ? AND expires_at > 0 AND id IN (${some.map(() => "?").join(", ")})
     RETURNING kind, id, fence`,
    ...[holder, kind, ...some],
  );
}

function keyOf(kind: LeaseKind, id: string): string {
  return `${kind} ${id}`;
}

function partsOf(key: string): { readonly kind: LeaseKind; readonly id: string } {
  const at = key.indexOf(" ");
  return { kind: key.slice(0, at) as LeaseKind, id: key.slice(at + 1) };
}

/** Repeats the last one up to a power of two: statements are prepared once for each number of parameters. */
function padded(ids: readonly string[]): string[] {
  const count = 2 ** Math.ceil(Math.log2(ids.length));
  return Array.from({ length: count }, (_, at) => ids[Math.min(at, ids.length - 1)] as string);
}

export function leaseLost(kind: LeaseKind): AppError {
  return new AppError("LEASE_LOST", `Another process has taken over the ${kind}.`);
}
