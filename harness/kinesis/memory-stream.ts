/** A data stream in memory: shards with lineage, records by sequence number, and faults on request. */
import type { Page, ShardFacts, StartAt, StreamApi, StreamRecord } from "../../src/sources/managed-stream/stream.ts";
import { StreamError } from "../../src/sources/managed-stream/stream.ts";

export type MemoryShard = ShardFacts & { readonly records: StreamRecord[] };

export class MemoryStream implements StreamApi {
  readonly all: MemoryShard[];
  /** Thrown by the next calls for records, in order. */
  readonly faults: (Error | undefined)[] = [];
  readonly calls: { readonly at: number; readonly shard: string }[] = [];
  readonly iterators: StartAt[] = [];
  readonly #pageSize: number;

  constructor(shards: MemoryShard[], pageSize: number) {
    this.all = shards;
    this.#pageSize = pageSize;
  }

  async shards() {
    return { shards: this.all, serverMs: Date.now() };
  }

  async iterator(shard: string, start: StartAt): Promise<string> {
    this.iterators.push(start);
    const { records } = this.#shard(shard);
    if (start.from === "horizon") return `${shard}/0`;
    if (start.from === "latest") return `${shard}/${records.length}`;
    const from = records.findIndex((record) => {
      if (start.from === "time") return record.arrivalMs >= start.ms;
      const difference = BigInt(record.sequence) - BigInt(start.sequence);
      return start.from === "at" ? difference >= 0n : difference > 0n;
    });
    return `${shard}/${from < 0 ? records.length : from}`;
  }

  async records(iterator: string): Promise<Page> {
    const [shard = "", index = ""] = iterator.split("/");
    this.calls.push({ at: performance.now(), shard });
    const fault = this.faults.shift();
    if (fault !== undefined) throw fault;
    const { records, closed } = this.#shard(shard);
    const to = Math.min(records.length, Number(index) + this.#pageSize);
    const ended = closed && to === records.length;
    const next = ended ? undefined : `${shard}/${to}`;
    return { records: records.slice(Number(index), to), behindMs: records.length - to, ended, next };
  }

  close(): void {}

  #shard(id: string): MemoryShard {
    const shard = this.all.find((one) => one.id === id);
    if (shard === undefined) throw new StreamError("gone", new Error(id));
    return shard;
  }
}

/** A record whose sequence number is derived from the shard and its index. */
export function record(shard: number, index: number, data: string | Buffer): StreamRecord {
  const sequence = String(10n ** 20n * BigInt(shard + 1) + BigInt(index) * 7n);
  return { sequence, key: `key ${index}`, arrivalMs: 1_700_000_000_000 + index, data: Buffer.from(data) };
}
