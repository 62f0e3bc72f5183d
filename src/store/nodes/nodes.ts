/**
 * The processes that share the database: each has a row, which it renews, and a fence that grows with every process on
 * its data directory. Every transaction of a process compares its fence, so that one whose directory another process
 * has taken over changes nothing. Only the database's clock counts. See `docs/decisions/0017-leases.md`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../lib/errors.ts";
import type { Database, Queries } from "../database/database.ts";

/** Without a renewal for this long, a process counts as gone, and others take over what it has. */
export const leaseMs = 15_000;
export const renewEveryMs = 5_000;
const lookMs = 250;

/** A `tool` needs the database for itself. */
export type NodeRole = "server" | "worker" | "tool";

/** The pipes that a process takes, of those that several can run. Undefined: whatever they are. */
export type PipeSelection = {
  /** Kinds of sources. */
  readonly kinds?: readonly string[] | undefined;
  /** Only those whose replicas have limits of their own, or only those without. */
  readonly sizes?: "own" | "shared" | undefined;
};

export type NodeFacts = {
  /** The same for every process that runs on one data directory, one at a time. */
  readonly id: string;
  readonly role: NodeRole;
  readonly version: string;
};

/** A process that was there lately. */
export type LiveNode = {
  readonly id: string;
  readonly role: NodeRole;
  /** Undefined: none, or not known yet. */
  readonly address: string | undefined;
  /** Its relay as `host:port`; undefined: none, or not known yet. */
  readonly relay: string | undefined;
  /** Pipes of external services that it runs at most: none before `Leases.join`, and after `Leases.leave`. */
  readonly slots: number;
  /** As of `Leases.join`. */
  readonly takes: PipeSelection;
};

/** Where a process can be reached. */
export type NodeAddresses = {
  /** URL of its API. */
  readonly address: string;
  /** Its relay for gateways, as `host:port`. */
  readonly relay?: string | undefined;
};

export type ClaimOptions = NodeFacts & {
  /** No other process has the database open: whoever has a row is gone. */
  readonly isExclusive: boolean;
  /** How long to wait for the end of a process that is in the way; default: a little longer than a lease. */
  readonly waitMs?: number;
};

const mine = "id = ? AND fence = ?";

export class NodeLease {
  readonly id: string;
  /** Grows with every process on the data directory. */
  readonly fence: number;
  readonly #db: Database;
  readonly #isExclusive: boolean;

  private constructor(db: Database, { id, isExclusive }: ClaimOptions, fence: number) {
    this.id = id;
    this.#db = db;
    this.fence = fence;
    this.#isExclusive = isExclusive;
  }

  /**
   * Waits until no process is in the way: a tool waits for all others, and every other process for tools. Throws while
   * there is one.
   */
  static async claim(db: Database, options: ClaimOptions): Promise<NodeLease> {
    const deadline = performance.now() + (options.waitMs ?? leaseMs + 2_000);
    for (;;) {
      const fence = await db.transaction((tx) => tryClaim(tx, db.nowMs, options));
      if (fence !== undefined) return new NodeLease(db, options, fence);
      if (performance.now() > deadline) throw new Error(inTheWay[options.role]);
      await delay(lookMs);
    }
  }

  /** Throws LEASE_LOST when another process has taken over the data directory; none can until the transaction ends. */
  async require(tx: Queries): Promise<void> {
    const one = `SELECT 1 AS held FROM nodes WHERE ${mine} FOR SHARE`;
    if ((await tx.get(one, this.id, this.fence)) === undefined) throw lost();
  }

  /** Call every `renewEveryMs`. Throws LEASE_LOST when another process has taken over: then this one must stop. */
  async renew(): Promise<void> {
    // Nobody looks at its end, and a disk at rest stays at rest.
    if (this.#isExclusive) return;
    const until = `UPDATE nodes SET expires_at = ${this.#db.nowMs} + ${leaseMs} WHERE ${mine}`;
    if ((await this.#db.run(until, this.id, this.fence)) === 0) throw lost();
  }

  /** Tells the others where this process can be reached. */
  async announce({ address, relay }: NodeAddresses): Promise<void> {
    const set = `UPDATE nodes SET address = ?, relay = ? WHERE ${mine}`;
    await this.#db.run(set, address, relay ?? null, this.id, this.fence);
  }

  /** Nobody waits for this process any more. */
  async release(): Promise<void> {
    await this.#db.run(`UPDATE nodes SET expires_at = 0 WHERE ${mine}`, this.id, this.fence);
  }
}

/** The same database, whose writes are refused with LEASE_LOST when another process has taken over the directory. */
export function fenced(db: Database, node: NodeLease): Database {
  const transaction: Database["transaction"] = (body, rows) =>
    db.transaction(async (tx) => {
      await node.require(tx);
      return await body(tx);
    }, rows);
  return { ...db, transaction, run: (sql, ...params) => transaction((tx) => tx.run(sql, ...params)) };
}

type NodeRow = {
  readonly id: string;
  readonly role: NodeRole;
  readonly address: string | null;
  readonly relay: string | null;
  readonly slots: number | null;
  readonly pipe_kinds: string | null;
  readonly pipe_sizes: PipeSelection["sizes"] | null;
};

/** The processes that were there lately, tools excepted, in the order of their ids. */
export async function liveNodes(db: Database): Promise<LiveNode[]> {
  const rows = await db.all<NodeRow>(
    `SELECT id, role, address, relay, slots, pipe_kinds, pipe_sizes FROM nodes
     WHERE role <> 'tool' AND expires_at > ${db.nowMs} ORDER BY id`,
  );
  return rows.map(({ id, role, address, relay, slots, pipe_kinds: kinds, pipe_sizes: sizes }) => ({
    ...{ id, role },
    address: address ?? undefined,
    relay: relay ?? undefined,
    slots: slots ?? Number.POSITIVE_INFINITY,
    takes: { kinds: kinds?.split(","), sizes: sizes ?? undefined },
  }));
}

/** The last known address of a process, also when it is gone. */
export async function nodeAddress(db: Queries, nodeId: string): Promise<string | undefined> {
  const row = await db.get<{ address: string | null }>("SELECT address FROM nodes WHERE id = ?", nodeId);
  return row?.address ?? undefined;
}

async function tryClaim(tx: Queries, nowMs: string, options: ClaimOptions): Promise<number | undefined> {
  const { id, role, version, isExclusive } = options;
  const others = role === "tool" ? "" : " AND role = 'tool'";
  const inWay = `SELECT 1 AS found FROM nodes WHERE id <> ? AND expires_at >= ${nowMs}${others} LIMIT 1`;
  if (!isExclusive && (await tx.get(inWay, id)) !== undefined) return undefined;
  await tx.run(
    `INSERT INTO nodes (id, role, version, slots, fence, started_at, expires_at)
     VALUES (?, ?, ?, 0, 1, ?, ${nowMs} + ${leaseMs})
     ON CONFLICT (id) DO UPDATE SET role = excluded.role, address = NULL, relay = NULL,
       version = excluded.version,
       slots = excluded.slots, fence = nodes.fence + 1, started_at = excluded.started_at, expires_at = excluded.expires_at`,
    ...[id, role, version, new Date().toISOString()],
  );
  return (await tx.get<{ fence: number }>("SELECT fence FROM nodes WHERE id = ?", id))?.fence;
}

const byTool = "a tool such as move-store uses this metadata database: wait until it has ended";
const inTheWay: Record<NodeRole, string> = {
  server: byTool,
  worker: byTool,
  tool: "a server uses this metadata database: stop all servers and workers on it, or wait until they are gone",
};

function lost(): AppError {
  return new AppError("LEASE_LOST", "Another process has taken over the data directory of this one, which stops.");
}
