/**
 * Whether inserts wait until most replicas have the rows. With a dead replica too few may be left: inserts then wait
 * for none for a while. Their tokens keep the rows from being written twice, and a pipe that stands still for long
 * loses what its source no longer keeps.
 */
import { ClickHouseError } from "../../clickhouse/client.ts";
import { clickHouseCodes } from "../../clickhouse/error-codes.ts";
import type { EngineSettings } from "./settings.ts";

/** Time in which most replicas must have the rows: longer than a fetch takes. */
const timeoutMs = 20_000;
/** Time for which inserts wait for no replica after one of them waited in vain. */
const restMs = 60_000;

export const lonelyBatches =
  "Too few replicas of the destination answer: batches are written to one replica, which gives them to the others " +
  "later. If its disk is lost before that, so are they.";

export class InsertQuorum {
  readonly #now: () => number;
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** True while inserts wait for no replica because too few answered. */
  get isResting(): boolean {
    return this.#now() < this.#restsUntil;
  }

  /** For the next insert. */
  settings(): EngineSettings {
    return this.isResting ? {} : { insert_quorum: "auto", insert_quorum_timeout: timeoutMs };
  }

  /** Judges the error of an insert that had these settings. The insert is repeated with its token either way. */
  failed(error: unknown): void {
    if (isWithoutQuorum(error)) this.#restsUntil = this.#now() + restMs;
  }
}

function isWithoutQuorum(error: unknown): boolean {
  if (!(error instanceof ClickHouseError)) return false;
  const { TOO_FEW_LIVE_REPLICAS, UNKNOWN_STATUS_OF_INSERT } = clickHouseCodes;
  // The status is unknown also when Keeper is away: that says nothing about replicas.
  return (
    error.code === TOO_FEW_LIVE_REPLICAS || (error.code === UNKNOWN_STATUS_OF_INSERT && /quorum/i.test(error.message))
  );
}
