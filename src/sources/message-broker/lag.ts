/** The pipe's lag per partition: in messages and in seconds. */
import type { PartitionName } from "./broker-client.ts";

type Seen = {
  end: number;
  durable: number;
  /** Timestamp of the newest durable message, in ms. */
  durableAt: number;
  readAt: number;
};

const reportEveryMs = 1_000;

export class Lag {
  readonly #report: (gauges: Readonly<Record<string, number>>) => void;
  readonly #lanes = new Map<string, Seen>();
  #reportedAt = 0;
  #commitErrors = 0;
  /** Undefined until the topics have been looked at. */
  #assigned: number | undefined;

  constructor(report: (gauges: Readonly<Record<string, number>>) => void) {
    this.#report = report;
  }

  /** Sets the number of partitions that this worker reads. */
  assigned(partitions: number): void {
    this.#assigned = partitions;
  }

  /** Updates the partition's readable end. */
  seen(partition: PartitionName & { readonly lane: string; readonly position: number }, end: number): void {
    const lane = this.#lanes.get(partition.lane);
    if (lane !== undefined) lane.end = end;
    else this.#lanes.set(partition.lane, { end, durable: partition.position, durableAt: 0, readAt: 0 });
  }

  /** Updates the timestamp of the last message read. */
  read(partition: { readonly lane: string }, timestamp: number): void {
    const lane = this.#lanes.get(partition.lane);
    if (lane !== undefined) lane.readAt = timestamp;
  }

  /** Timestamp of the last message read of the lane. */
  readAt(lane: string): number {
    return this.#lanes.get(lane)?.readAt ?? 0;
  }

  durable(laneName: string, next: number, timestamp: number): void {
    const lane = this.#lanes.get(laneName);
    if (lane === undefined) return;
    lane.durable = next;
    if (timestamp > 0) {
      lane.durableAt = timestamp;
      this.#report({ latencyMs: Math.max(0, Date.now() - timestamp) });
    }
    this.report();
  }

  commitFailed(): void {
    this.#commitErrors += 1;
    this.#report({ commitErrors: this.#commitErrors });
  }

  /** At most once per second. */
  report(): void {
    const now = Date.now();
    if (now - this.#reportedAt < reportEveryMs) return;
    this.#reportedAt = now;
    const gauges: Record<string, number> = {};
    let messages = 0;
    for (const [name, { end, durable, durableAt }] of this.#lanes) {
      const behind = Math.max(0, end - durable);
      messages += behind;
      gauges[`lagMessages:${name}`] = behind;
      // Before the first message is durable nothing is known of the age of what waits.
      if (behind === 0) gauges[`lagSeconds:${name}`] = 0;
      else if (durableAt > 0) gauges[`lagSeconds:${name}`] = Math.round((now - durableAt) / 1000);
    }
    // Unknown is not zero: the sum is reported once every partition has answered.
    const isKnown = this.#assigned !== undefined && this.#lanes.size >= this.#assigned;
    this.#report(isKnown ? { ...gauges, lagMessages: messages } : gauges);
  }
}
