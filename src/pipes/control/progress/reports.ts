/** What this process knows of its pipes, told to the others; and what the others tell of theirs. */
import type { Leases } from "../../../store/nodes/leases.ts";
import type { PipeReport, PipeReports } from "../../../store/pipes/pipe-reports.ts";

export type ReportsOptions = {
  readonly reports: PipeReports;
  readonly leases: Leases;
  /** Pipes of which this process knows something. */
  readonly ownIds: () => Iterable<string>;
  /** What it knows. */
  readonly own: (pipeId: string) => PipeReport;
  /** The clock, in ms: replaced in tests. */
  readonly now?: () => number;
};

/** The others see what is this old. */
const writeEveryMs = 5_000;

export class SharedReports {
  readonly #options: ReportsOptions;
  /** As written last. */
  #written = new Map<string, string>();
  #writtenAt = Number.NEGATIVE_INFINITY;
  #others: ReadonlyMap<string, PipeReport> = new Map();

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** Reads what others say, and tells them what has changed. Without others, nothing is written. */
  async pass(): Promise<void> {
    const { leases, reports } = this.#options;
    if ((await leases.peers()).length < 2) {
      this.#others = new Map();
      return;
    }
    this.#others = await reports.ofOthers(leases.nodeId);
    const now = (this.#options.now ?? Date.now)();
    if (now - this.#writtenAt < writeEveryMs) return;
    await this.#write();
    this.#writtenAt = now;
  }

  async #write(): Promise<void> {
    const { leases, reports } = this.#options;
    const mine = this.#own();
    const next = new Map(mine.map(([id, report]) => [id, JSON.stringify(report)]));
    const changed = mine.filter(([id]) => next.get(id) !== this.#written.get(id));
    const gone = [...this.#written.keys()].filter((id) => !next.has(id));
    if (changed.length + gone.length > 0) await reports.write(leases.nodeId, new Map(changed), gone);
    this.#written = next;
  }

  /** The reports of all pipes: what this process sees of its own, and what others say of theirs. */
  all(): ReadonlyMap<string, PipeReport> {
    const { leases } = this.#options;
    const others = [...this.#others].filter(([id]) => !leases.holds("pipe", id));
    return new Map([...others, ...this.#own()]);
  }

  /** The report of one pipe, whichever process runs it. */
  of(pipeId: string): PipeReport {
    const { leases, own } = this.#options;
    return (leases.holds("pipe", pipeId) ? undefined : this.#others.get(pipeId)) ?? own(pipeId);
  }

  #own(): [string, PipeReport][] {
    const { leases, own, ownIds } = this.#options;
    const ids = [...new Set(ownIds())].filter((id) => leases.holds("pipe", id));
    return ids.map((id) => [id, own(id)]);
  }
}
