/**
 * Whether the pipe can go on where it stands: the source is the one whose log it has followed, everything that has been
 * loaded is part of that source's history, and the slot is where the pipe has left it. Asked on the very connection
 * that is then used, because an address may lead to another server at any time.
 */
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { AppError } from "../../../lib/errors.ts";
import type { SourceContext } from "../../contract/source.ts";
import type { PostgresDurable, TimelineHistory } from "../declaration/durable.ts";
import { formatLsn, parseLsn } from "../protocol/lsn.ts";
import { findSlot } from "./slot.ts";
import { divergencePoint, readTimelineHistory, timelineText } from "./timeline-history.ts";

const timelineMark = "lineage";
const lostMark = "lost";
/** Position of the newest snapshot that rows were copied in. */
const copiedMark = "copied";
/** The newest position confirmed to the slot. A slot that is further was moved by another client, or recreated. */
export const confirmedMark = "confirmed";

export class ResumeCheck {
  readonly #context: SourceContext<PostgresDurable>;
  readonly #slot: string;

  constructor(context: SourceContext<PostgresDurable>, slot: string) {
    this.#context = context;
    this.#slot = slot;
  }

  /**
   * Where the source would go on. `reached`: the commit of the last transaction that has been loaded, in part or whole.
   * Throws SOURCE_LOST when only a resync helps, SOURCE_UNREACHABLE while the server is a standby.
   */
  async check(client: pg.Client, reached: bigint): Promise<bigint> {
    try {
      const position = await this.#position(client, reached);
      await this.#noteLost(false);
      return position;
    } catch (error) {
      if (error instanceof AppError && error.code === "SOURCE_LOST") await this.#noteLost(true);
      throw error;
    }
  }

  /** What the API tells clients as data, so that nobody has to read it from the sentence. */
  async #noteLost(isLost: boolean): Promise<void> {
    const known = (await this.#context.ledger.marks([lostMark])).get(lostMark) ?? false;
    if (known !== isLost) await this.#context.ledger.note({ [lostMark]: isLost }, {});
  }

  async #position(client: pg.Client, reached: bigint): Promise<bigint> {
    const now = await readTimelineHistory(client);
    const slot = await findSlot(client, this.#slot);
    if (slot.isStandby) throw new AppError("SOURCE_UNREACHABLE", "The server is a standby: waiting for the primary.");
    const known = (await this.#context.ledger.marks([timelineMark])).get(timelineMark);
    const saved = await this.#context.ledger.marks([copiedMark, confirmedMark]);
    const copied = parseLsn(saved.get(copiedMark) ?? "0/0");
    // A snapshot shows what lies before its position.
    const reach = copied > reached ? copied - 1n : reached;
    this.#checkHistory(known, now, reach);
    if (slot.confirmed === undefined) throw this.#lost(`does not exist ${missing(known, now)}`);
    if (slot.loss !== undefined) throw this.#lost(slot.loss);
    const position = parseLsn(slot.confirmed);
    const confirmed = saved.get(confirmedMark);
    if (confirmed !== undefined && position > parseLsn(confirmed)) {
      const gap = `is at ${slot.confirmed}, and the pipe has confirmed ${confirmed} only`;
      throw this.#lost(`${gap}: it was made anew or moved by somebody else`);
    }
    const news = {
      ...(isDeepStrictEqual(known, now) ? {} : { [timelineMark]: now }),
      ...(confirmed === undefined ? { [confirmedMark]: slot.confirmed } : {}),
    };
    if (Object.keys(news).length > 0) await this.#context.ledger.note(news, {});
    return position;
  }

  /** Rows are about to be copied in a snapshot of this position. */
  async copies(lsn: string): Promise<void> {
    await this.#context.ledger.note({ [copiedMark]: lsn }, {});
  }

  /** Must precede the confirmation to the source. Counts the changes up to the position that were skipped. */
  async confirms(lsn: bigint, skippedRows: number): Promise<void> {
    await this.#context.ledger.note({ [confirmedMark]: formatLsn(lsn) }, skippedRows === 0 ? {} : { skippedRows });
  }

  /** A new slot: nothing is known of the time before it. */
  async begins(lineage: TimelineHistory, lsn: string): Promise<void> {
    await this.#context.ledger.note({ [timelineMark]: lineage, [copiedMark]: lsn, [confirmedMark]: lsn }, {});
  }

  #checkHistory(known: TimelineHistory | undefined, now: TimelineHistory, reach: bigint): void {
    const fork = known === undefined ? undefined : divergencePoint(known, now);
    if (known === undefined || fork === undefined || reach < fork) return;
    if (known.system !== now.system) {
      throw lost("This is another Postgres cluster than the one that was copied (its system identifier is another)");
    }
    throw lost(
      `The server is on ${timelineText(now)}, which left the history of ${timelineText(known)} at ${formatLsn(fork)}, ` +
        `and the pipe has loaded transactions up to ${formatLsn(reach)}: some of them are lost at the source since ` +
        "a standby was promoted that had not received them",
    );
  }

  #lost(what: string): AppError {
    return lost(`The replication slot "${this.#slot}" ${what}`);
  }
}

function missing(known: TimelineHistory | undefined, now: TimelineHistory): string {
  if (known === undefined || isDeepStrictEqual(known, now)) return "any more";
  return (
    `on this server, which was promoted to ${timelineText(now)}: a standby keeps slots only from Postgres 17 on, with ` +
    "enableFailoverSlots here and sync_replication_slots there"
  );
}

function lost(what: string): AppError {
  return new AppError("SOURCE_LOST", `${what}. Changes may be missing: only copying all tables anew helps.`);
}
