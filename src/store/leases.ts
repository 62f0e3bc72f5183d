/**
 * The lease of the server that may write: one row, with a fence that grows with every holder. Every transaction of the
 * holder compares it, so that a server that was suspended, or cut off, changes nothing after another one has taken
 * over. Only the database's clock counts. See `docs/decisions/0017-leases.md`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../lib/errors.ts";
import type { Database, Queries } from "./database.ts";

/** Without a renewal for this long, another server may take over. */
export const leaseMs = 15_000;
export const renewEveryMs = 5_000;
const lookMs = 250;

const mine = "kind = 'singleton' AND id = 'server' AND holder = ? AND fence = ?";

export type ClaimOptions = {
  /** The same for every process that runs on one data directory, one at a time. */
  readonly holder: string;
  /** No other process has the database open: whoever has had the lease is gone. */
  readonly isExclusive: boolean;
  /** How long to wait for the lease of another server to end; default: a little longer than a lease. */
  readonly waitMs?: number;
};

export class ServerLease {
  readonly #db: Database;
  readonly #holder: string;
  readonly #fence: number;
  readonly #isExclusive: boolean;

  private constructor(db: Database, { holder, isExclusive }: ClaimOptions, fence: number) {
    this.#db = db;
    this.#holder = holder;
    this.#fence = fence;
    this.#isExclusive = isExclusive;
  }

  /** Waits for the lease of a server that does not renew it any more. Throws while another server does. */
  static async claim(db: Database, options: ClaimOptions): Promise<ServerLease> {
    const { waitMs = leaseMs + 2_000 } = options;
    const deadline = performance.now() + waitMs;
    for (;;) {
      const fence = await db.transaction((tx) => tryClaim(tx, db.nowMs, options));
      if (fence !== undefined) return new ServerLease(db, options, fence);
      if (performance.now() > deadline) {
        throw new Error("another server uses this metadata database: stop it, or wait until it is gone");
      }
      await delay(lookMs);
    }
  }

  /** Throws LEASE_LOST when another server has taken over; none can until the transaction ends. */
  async require(tx: Queries): Promise<void> {
    const one = `SELECT 1 AS held FROM leases WHERE ${mine} FOR SHARE`;
    if ((await tx.get(one, this.#holder, this.#fence)) === undefined) throw lost();
  }

  /** Call every `renewEveryMs`. Throws LEASE_LOST when another server has taken over: then this one must stop. */
  async renew(): Promise<void> {
    // Nobody looks at its end, and a disk at rest stays at rest.
    if (this.#isExclusive) return;
    const until = `UPDATE leases SET expires_at = ${this.#db.nowMs} + ${leaseMs} WHERE ${mine}`;
    if ((await this.#db.run(until, this.#holder, this.#fence)) === 0) throw lost();
  }

  /** Another server may start at once. */
  async release(): Promise<void> {
    await this.#db.run(`UPDATE leases SET expires_at = 0 WHERE ${mine}`, this.#holder, this.#fence);
  }
}

/** The same database, whose writes are refused with LEASE_LOST when another server has taken over. */
export function fenced(db: Database, lease: ServerLease): Database {
  const transaction: Database["transaction"] = (body) =>
    db.transaction(async (tx) => {
      await lease.require(tx);
      return await body(tx);
    });
  return { ...db, transaction, run: (sql, ...params) => transaction((tx) => tx.run(sql, ...params)) };
}

async function tryClaim(tx: Queries, nowMs: string, { holder, isExclusive }: ClaimOptions) {
  const claimed = await tx.run(
    `INSERT INTO leases (kind, id, holder, fence, expires_at) VALUES ('singleton', 'server', ?, 1, ${nowMs} + ${leaseMs})
     ON CONFLICT (kind, id) DO UPDATE
       SET holder = excluded.holder, fence = leases.fence + 1, expires_at = excluded.expires_at
       WHERE leases.holder = excluded.holder OR leases.expires_at < ${nowMs} OR 1 = ?`,
    ...[holder, Number(isExclusive)],
  );
  if (claimed === 0) return undefined;
  // Of the server before.
  await tx.run("DELETE FROM pipe_holds");
  const sql = "SELECT fence FROM leases WHERE kind = 'singleton' AND id = 'server'";
  return (await tx.get<{ fence: number }>(sql))?.fence;
}

function lost(): AppError {
  return new AppError("LEASE_LOST", "Another server has taken over the metadata database. This one stops.");
}
