/**
 * Senders that retry until they are told, with keys, while everything crashes: each key's rows are in the table once.
 * The inbox, the reader and the source are the real ones; the table keeps rows by token, as the engine does.
 */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { random } from "../../harness/random.ts";
import { testContext, testDestination } from "../../harness/sources/source-context.ts";
import type { Batch } from "../../src/sources/contract/source.ts";
import { JsonRows } from "../../src/sources/messages/formats/json-rows.ts";
import { planRows } from "../../src/sources/messages/plan.ts";
import { inboxLane, type PushDurable, type RowRange } from "../../src/sources/push/declaration/durable.ts";
import { Inbox } from "../../src/sources/push/inbox/inbox.ts";
import { segmentsIn } from "../../src/sources/push/inbox/segments.ts";
import { pushVirtualColumns } from "../../src/sources/push/message.ts";
import { InboxReader } from "../../src/sources/push/reader.ts";
import { RowBatches } from "../../src/sources/push/row-batches.ts";
import { PushSource } from "../../src/sources/push/source.ts";

type Body = { readonly key: string; readonly rows: readonly string[] };

class World {
  readonly folder = mkdtempSync(join(tmpdir(), "push-crashes-"));
  readonly table = new Map<string, readonly string[]>();
  readonly answered = new Set<string>();
  checkpoint = 0;
  intent: RowRange | undefined;
  inbox: Inbox | undefined;
  readonly chance: (share: number) => boolean;
  readonly #below: (limit: number) => number;

  constructor(seed: number) {
    const next = random(seed);
    this.chance = (share) => next() < share;
    this.#below = (limit) => Math.floor(next() * limit);
  }

  async open(): Promise<Inbox> {
    const onProblem = (error: unknown) => expect.fail(String(error));
    this.inbox ??= await Inbox.open({ folder: this.folder, next: this.checkpoint, onProblem, segmentBytes: 600 });
    return this.inbox;
  }

  /** The process is gone: what it had open, and perhaps the rest of a write that nobody was told of. */
  async crash(): Promise<void> {
    await this.inbox?.close();
    this.inbox = undefined;
    const newest = (await segmentsIn(this.folder)).at(-1);
    if (newest !== undefined && this.chance(0.5)) appendFileSync(newest.path, Buffer.alloc(1 + this.#below(40), 7));
  }

  /** Sends a body; its answer may be lost. */
  async send({ key, rows }: Body): Promise<void> {
    const inbox = await this.open();
    const body = Buffer.from(rows.map((row) => `{"a":"${row}"}\n`).join(""));
    const known = { key, body: key, windowMs: 3_600_000 };
    const { rows: count } = await inbox.append({ facts: { n: rows.length, t: Date.now() }, body: [body], key: known });
    expect(count).toBe(rows.length);
    if (!this.chance(0.3)) this.answered.add(key);
  }

  /** Loads for a while in the order of the runner; a worker may be gone after any step. */
  async load(): Promise<void> {
    const inbox = await this.open();
    const source = this.#source(inbox);
    const stop = new AbortController();
    if (this.intent !== undefined && !(await this.#insert(source, await source.replay(this.intent)))) return;
    const checkpoints = new Map([[inboxLane, this.checkpoint]]);
    if (inbox.end <= this.checkpoint) return await inbox.loaded(this.checkpoint);
    for await (const batch of source.read(checkpoints, stop.signal)) {
      this.intent = batch.replay;
      if (this.chance(0.1) || !(await this.#insert(source, batch))) return;
      if (inbox.end <= this.checkpoint || this.chance(0.2)) return;
    }
  }

  async #insert(source: PushSource, batch: Batch<PushDurable>): Promise<boolean> {
    if (this.chance(0.1)) return false;
    const lines = batch.inserts.flatMap(({ body }) => String(body?.()).split("\n").filter(Boolean));
    expect(batch.rejected).toEqual([]);
    const before = this.table.get(batch.id);
    if (before !== undefined) expect(lines).toEqual(before);
    this.table.set(batch.id, lines);
    if (this.chance(0.1)) return false;
    this.checkpoint = batch.checkpoint as number;
    this.intent = undefined;
    if (this.chance(0.1)) return false;
    await source.acknowledge(batch);
    return true;
  }

  #source(inbox: Inbox): PushSource {
    const encoder = new JsonRows(planRows(testDestination, "JSONEachRow", pushVirtualColumns));
    const limits = { maxRows: 1 + this.#below(6), maxBytes: 1_000_000 };
    const reader = new InboxReader(this.folder, { kind: "lines" });
    const maker = new RowBatches({ reader, encoder, limits, query: async () => [] });
    const signal = new AbortController().signal;
    const access = {
      news: (after: number) => inbox.news(after, () => ({ rows: 1, bytes: 1, ageMs: 0 }), signal),
      loaded: (next: number) => inbox.loaded(next),
    };
    return new PushSource({ context: testContext<PushDurable>(), inbox: access, maker });
  }
}

test.each(Array.from({ length: 24 }, (_, seed) => seed + 1))("seed %i: each key's rows once", async (seed) => {
  const world = new World(seed);
  const bodies = Array.from({ length: 30 }, (_, n): Body => {
    const rows = Array.from({ length: 1 + ((n * 7) % 5) }, (_, row) => `${n}-${row}`);
    return { key: `key-${n}`, rows };
  });
  try {
    while (bodies.some(({ key }) => !world.answered.has(key))) {
      const open = bodies.filter(({ key }) => !world.answered.has(key)).filter(() => world.chance(0.4));
      // One process has the folder open.
      await world.open();
      await Promise.all(open.map((body) => world.send(body)));
      if (world.chance(0.6)) await world.load();
      if (world.chance(0.3)) await world.crash();
    }
    while (world.checkpoint < (await world.open()).end || world.intent !== undefined) await world.load();
    const loaded = [...world.table.values()].flat();
    const sent = bodies.flatMap(({ rows }) => rows.map((row) => `{"a":"${row}"}`));
    expect(loaded.toSorted()).toEqual(sent.toSorted());
  } finally {
    await world.inbox?.close();
    rmSync(world.folder, { recursive: true, force: true });
  }
});
