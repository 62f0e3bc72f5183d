/**
 * How long the source will keep the log that a slot still needs. A slot holds log back; with `max_slot_wal_keep_size`
 * the server gives up the slot when that becomes too much, and the pipe must then copy everything again.
 */
import type pg from "pg";

/** Gauges have the same names in the API and in the metrics. Unknown ones are absent. */
export type SlotGauges = {
  /** Log written after the last position that was acknowledged. */
  readonly lagBytes?: number;
  /** Log that the server keeps for the slot. */
  readonly slotRetainedBytes?: number;
  /** Log that may still be written before the slot is in danger; only with `max_slot_wal_keep_size`. */
  readonly slotSafeBytes?: number;
  /** How fast the retained log grows; 0 when it does not. */
  readonly slotBurnBytesPerSecond?: number;
  /** Seconds until the safe bytes are used up at that rate; at most `maxEtaSeconds`. */
  readonly slotEtaSeconds?: number;
};

export type SlotHealth = {
  readonly gauges: SlotGauges;
  /** The slot is in danger; a sentence with the numbers and the remedy. */
  readonly warning?: string;
  /** The slot cannot be used any more: only a resync helps. */
  readonly lost?: string;
};

/** A year: a longer estimate is reported as this. */
export const maxEtaSeconds = 31_536_000;
/** Below this many seconds to go a warning is given. */
const shortSeconds = 6 * 3600;
/** Rates are taken over this time, so that one checkpoint does not look like a trend. */
const windowMs = 120_000;

export type SlotRow = {
  readonly walStatus: string | null;
  /** Postgres 17 and newer. */
  readonly reason: string | null;
  /** Postgres 16 and newer: invalidated by a conflict with recovery. */
  readonly conflicting: boolean | null;
};

type SlotHealthRow = SlotRow & {
  readonly active: boolean;
  readonly safe: string | null;
  readonly retained: string | null;
  readonly lag: string | null;
  /** Postgres 17 and newer, of a failover slot: standbys that must have a change before the slot, and do not run. */
  readonly absent: string | null;
};

const slotSql = `
  WITH now(lsn) AS (
    SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
      ELSE pg_catalog.pg_current_wal_lsn() END
  )
  SELECT s.active, s.wal_status AS "walStatus", s.safe_wal_size::text AS safe,
    pg_catalog.pg_wal_lsn_diff(now.lsn, s.restart_lsn)::text AS retained,
    pg_catalog.pg_wal_lsn_diff(now.lsn, s.confirmed_flush_lsn)::text AS lag,
    pg_catalog.to_jsonb(s)->>'invalidation_reason' AS reason,
    (pg_catalog.to_jsonb(s)->>'conflicting')::bool AS conflicting,
    (SELECT pg_catalog.string_agg(w.name, ', ')
      FROM pg_catalog.regexp_split_to_table(
        pg_catalog.current_setting('synchronized_standby_slots', true), '[\\s,"]+') AS w(name)
      LEFT JOIN pg_catalog.pg_replication_slots p ON p.slot_name = w.name
      WHERE pg_catalog.to_jsonb(s)->>'failover' = 'true' AND w.name <> '' AND p.active IS NOT TRUE) AS absent
  FROM pg_catalog.pg_replication_slots s CROSS JOIN now
  WHERE s.slot_name = $1`;

type Sample = { readonly at: number; readonly retained: number };

/** Looks at one slot again and again. Ask every ten seconds or so: one short query each. */
export class SlotHealthProbe {
  readonly #slot: string;
  readonly #budgetBytes: number | undefined;
  #samples: Sample[] = [];

  /** `budgetBytes`: with more retained log a warning is given. */
  constructor(slot: string, budgetBytes?: number) {
    this.#slot = slot;
    this.#budgetBytes = budgetBytes;
  }

  /** `now` in ms of a clock that does not go back. Throws what the driver throws. */
  async poll(client: Pick<pg.ClientBase, "query">, now = performance.now()): Promise<SlotHealth> {
    const { rows } = await client.query<SlotHealthRow>(slotSql, [this.#slot]);
    const [row] = rows;
    if (row === undefined) return { gauges: {}, lost: this.#lost("does not exist any more") };
    const why = slotLossReason(row);
    if (why !== undefined) return { gauges: { slotEtaSeconds: 0 }, lost: this.#lost(why) };
    const retained = Math.max(0, Number(row.retained ?? 0));
    const burn = this.#burn({ at: now, retained });
    const safe = row.safe === null ? undefined : Math.max(0, Number(row.safe));
    const eta = safe === undefined ? undefined : etaOf(safe, burn);
    const gauges: SlotGauges = {
      ...(row.lag === null ? {} : { lagBytes: Math.max(0, Number(row.lag)) }),
      slotRetainedBytes: retained,
      slotBurnBytesPerSecond: burn,
      ...(safe === undefined || eta === undefined ? {} : { slotSafeBytes: safe, slotEtaSeconds: eta }),
    };
    const warning =
      absentWarning(row.absent) ?? this.#warning(row.walStatus, safe, eta, burn) ?? this.#overBudget(retained);
    return { gauges, ...(warning === undefined ? {} : { warning }) };
  }

  /** Growth of the retained log over the window, in bytes per second. */
  #burn(sample: Sample): number {
    this.#samples = [...this.#samples.filter(({ at }) => sample.at - at <= windowMs), sample];
    const first = this.#samples[0] as Sample;
    const seconds = (sample.at - first.at) / 1000;
    return seconds <= 0 ? 0 : Math.max(0, Math.round((sample.retained - first.retained) / seconds));
  }

  #warning(status: string | null, safe: number | undefined, eta: number | undefined, burn: number): string | undefined {
    const remedy = "let the pipe catch up, or raise max_slot_wal_keep_size at the source";
    const left = safe === undefined ? "" : `; ${megabytes(safe)} left at ${megabytes(burn)}/s`;
    if (status === "unreserved") {
      return `the source is about to give up slot "${this.#slot}" (wal_status is unreserved): ${remedy}`;
    }
    if (eta !== undefined && eta <= shortSeconds) {
      return `the source gives up slot "${this.#slot}" in about ${duration(eta)}${left}: ${remedy}`;
    }
    if (status === "extended" && safe !== undefined) {
      return `slot "${this.#slot}" holds back more log than max_wal_size${left}: ${remedy}`;
    }
    return undefined;
  }

  #overBudget(retained: number): string | undefined {
    if (this.#budgetBytes === undefined || retained <= this.#budgetBytes) return undefined;
    const limit = `more than slotBudgetBytes (${megabytes(this.#budgetBytes)})`;
    return `slot "${this.#slot}" holds back ${megabytes(retained)} of log, ${limit}: start the pipe or let it catch up`;
  }

  #lost(why: string): string {
    return `slot "${this.#slot}" ${why}: resync the pipe, and raise max_slot_wal_keep_size if the source removed its log`;
  }
}

function absentWarning(absent: string | null): string | undefined {
  if (absent === null) return undefined;
  const remedy = "start it, or take it out of synchronized_standby_slots at the source";
  return `the source sends no changes until the standby of slot ${absent} has them, and it does not run: ${remedy}`;
}

const reasons: Readonly<Record<string, string>> = {
  wal_removed: "lost log that it still needed",
  rows_removed: "was invalidated because rows it needed were removed on a standby",
  wal_level_insufficient: "was invalidated because wal_level is not logical",
  idle_timeout: "was invalidated because nothing used it for idle_replication_slot_timeout",
};

/** Why a slot cannot be used any more; undefined when it can. */
export function slotLossReason({ walStatus, reason, conflicting }: SlotRow): string | undefined {
  if (reason !== null) return reasons[reason] ?? `was invalidated (${reason})`;
  if (walStatus === "lost") return reasons.wal_removed;
  return conflicting === true ? "was invalidated by a conflict with recovery" : undefined;
}

function etaOf(safe: number, burn: number): number {
  if (safe === 0) return 0;
  return burn === 0 ? maxEtaSeconds : Math.min(maxEtaSeconds, Math.floor(safe / burn));
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
