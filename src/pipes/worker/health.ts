/** Tracks how long something has been failing, and decides when the pipe gives up. */
import { publicText } from "../../lib/public-text.ts";
import type { Failure, FailureKind } from "../failures.ts";
import { sentenceOf } from "../failures.ts";
import type { OutageLimits, WorkerStatus } from "../protocol.ts";

/** The pipe cannot continue without intervention. The message is public. */
export class PipeFailure extends Error {}

export class Health {
  readonly #limits: OutageLimits;
  readonly #tell: (status: WorkerStatus) => void;
  readonly #since = new Map<FailureKind, number>();
  readonly #warnings = new Map<string, string>();
  #isPreparing = false;
  #hasBeenGood = false;
  #isCopying = false;
  #told: string | undefined;

  constructor(limits: OutageLimits, tell: (status: WorkerStatus) => void) {
    this.#limits = limits;
    this.#tell = tell;
  }

  /** Inserts or the source work again. */
  good(kinds: readonly FailureKind[]): void {
    for (const kind of kinds) this.#since.delete(kind);
    this.#hasBeenGood = true;
    if (this.#since.size === 0) this.#tellRunning();
  }

  /** Nothing is told to be running until the destination is ready. */
  preparing(): void {
    this.#isPreparing = true;
    this.#tell({ phase: "preparing" });
  }

  /** The destination is ready: the service and its engine have answered. */
  prepared(): void {
    this.#isPreparing = false;
    for (const kind of ["destination", "service", "engine"] as const) this.#since.delete(kind);
    if (this.#hasBeenGood) this.good([]);
  }

  /** Sets a warning that the pipe shows while it continues; an undefined message clears it. */
  warn(key: string, message: string | undefined): void {
    if (message === undefined) this.#warnings.delete(key);
    else this.#warnings.set(key, message);
    if (this.#since.size === 0 && this.#told !== undefined) this.#tellRunning();
  }

  /** Sets whether the pipe copies existing data. */
  copying(isCopying: boolean): void {
    this.#isCopying = isCopying;
    if (this.#since.size === 0 && this.#told !== undefined) this.#tellRunning();
  }

  #tellRunning(): void {
    if (this.#isPreparing) return;
    const reason = publicText([...new Set(this.#warnings.values())].join(" "));
    const phase = this.#isCopying ? "snapshot" : "running";
    const told = reason === "" ? phase : reason;
    if (this.#told === told) return;
    this.#told = told;
    this.#tell(reason === "" ? { phase } : { phase: "degraded", reason });
  }

  /** Records a failure. Throws PipeFailure when it has lasted too long. */
  bad(failure: Failure): void {
    const since = this.#since.get(failure.kind) ?? performance.now();
    this.#since.set(failure.kind, since);
    const reason = reasonOf(failure);
    const limit = this.#limitOf(failure.kind);
    if (performance.now() - since > limit) throw new PipeFailure(`${reason} (gave up after ${duration(limit)})`);
    const away = failure.kind === "source" ? { isSourceAway: true } : {};
    if (this.#told !== reason) this.#tell({ phase: "degraded", reason, ...away });
    this.#told = reason;
  }

  /** The same for an insert. Inserts of other lanes that work do not hide it, until `insertEnded` of its lane. */
  badInsert(lane: string, failure: Failure): void {
    this.#warnings.set(insertKey(lane), reasonOf(failure));
    this.bad(failure);
  }

  /** The lane's insert is done, or given up. */
  insertEnded(lane: string): void {
    if (this.#warnings.has(insertKey(lane))) this.warn(insertKey(lane), undefined);
  }

  #limitOf(kind: FailureKind): number {
    if (kind === "source") return this.#limits.sourceOutageMs;
    // A stopped or starting service and a store that is away are not the pipe's failure: it waits.
    return kind === "service" || kind === "store" ? Number.POSITIVE_INFINITY : this.#limits.destinationOutageMs;
  }
}

function insertKey(lane: string): string {
  return `insert:${lane}`;
}

function reasonOf(failure: Failure): string {
  return `${words[failure.kind]}: ${sentenceOf(failure)}`;
}

const words: Record<FailureKind, string> = {
  data: "data",
  source: "the source fails",
  destination: "the destination refuses inserts",
  service: "waiting for the service",
  engine: "the service fails",
  store: "waiting for the metadata",
};

function duration(ms: number): string {
  return ms >= 60_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1000)} s`;
}
