/**
 * The order that every connector shares: save the intent, insert with a token, save the checkpoint, acknowledge. A crash
 * between any two steps leaves an intent, which is replayed first the next time: the same rows, cut at the same places,
 * under the same token and settings, so the engine recognises what it already has.
 */
import type { Batch, CounterName, Insert, Json, JsonObject, Source } from "../sources/source.ts";
import { Lanes } from "./lanes.ts";

export type FrozenIntent = {
  readonly batchId: string;
  readonly lane: string;
  readonly intent: { readonly replay: JsonObject; readonly token: string; readonly settings: InsertSettings };
};

export type InsertSettings = Readonly<Record<string, string | number>>;

/** The durable side, in the control plane. Every call resolves when it is durable. */
export type LedgerPort = {
  intents(): Promise<FrozenIntent[]>;
  checkpoints(): Promise<Record<string, Json>>;
  begin(intent: FrozenIntent): Promise<void>;
  confirm(done: {
    batchId: string;
    lane: string;
    checkpoint: Json | undefined;
    marks: Readonly<Record<string, Json>>;
    counts: Readonly<Record<string, number>>;
  }): Promise<void>;
};

export type Written = { readonly rows: number; readonly bytes: number };

export type RunnerOptions = {
  readonly source: Source;
  readonly ledger: LedgerPort;
  /** Inserts once, retrying what may pass. Throws RefusedInsert when the engine refuses the data for good. */
  readonly insert: (insert: Insert, token: string, settings: InsertSettings, signal: AbortSignal) => Promise<Written>;
  readonly tokenPrefix: string;
  readonly concurrency: number;
  readonly signal: AbortSignal;
};

/** The engine will never take these rows. The message is safe to show. */
export class RefusedInsert extends Error {
  override readonly name = "RefusedInsert";
}

/** Runs until the source is exhausted or the signal aborts. Throws on the first failure that retrying cannot mend. */
export async function runPipe(options: RunnerOptions): Promise<void> {
  const { source, ledger, signal } = options;
  const lanes = new Lanes(options.concurrency);
  for (const frozen of await ledger.intents()) {
    signal.throwIfAborted();
    const batch = await source.replay(frozen.intent.replay, signal);
    await lanes.add(batch.lane, () => deliver(options, batch, frozen.intent));
  }
  // Positions are only complete when every batch that was begun before has arrived.
  await lanes.drain();
  const checkpoints = new Map(Object.entries(await ledger.checkpoints()));
  for await (const batch of source.read(checkpoints, signal)) {
    await lanes.add(batch.lane, () => deliver(options, batch, undefined));
    if (signal.aborted) break;
  }
  await lanes.drain();
}

async function deliver(
  options: RunnerOptions,
  batch: Batch,
  frozen: { readonly token: string; readonly settings: InsertSettings } | undefined,
): Promise<void> {
  const token = frozen?.token ?? `${options.tokenPrefix}:${batch.id}`;
  const settings = frozen?.settings ?? batch.settings;
  if (frozen === undefined && batch.inserts.length > 0) {
    await options.ledger.begin({
      batchId: batch.id,
      lane: batch.lane,
      intent: { replay: batch.replay, token, settings },
    });
  }
  let written: Written = { rows: 0, bytes: 0 };
  try {
    written = await insertAll(options, batch, token, settings);
  } catch (error) {
    if (!(error instanceof RefusedInsert) || options.source.refused === undefined) throw error;
    await deliverInstead(options, batch, error.message);
    return;
  }
  await confirm(options, batch, written);
}

async function insertAll(
  options: RunnerOptions,
  batch: Batch,
  token: string,
  settings: InsertSettings,
): Promise<Written> {
  let rows = 0;
  let bytes = 0;
  for (const [index, insert] of batch.inserts.entries()) {
    options.signal.throwIfAborted();
    const written = await options.insert(insert, `${token}:${index}`, settings, options.signal);
    rows += written.rows;
    bytes += written.bytes;
  }
  return { rows, bytes };
}

/**
 * Delivers the source's replacements. The refused batch's own intent goes only after the last of them: a crash in
 * between refuses it again and finds the replacements it had already delivered by their tokens.
 */
async function deliverInstead(options: RunnerOptions, batch: Batch, reason: string): Promise<void> {
  const replacements = (await options.source.refused?.(batch, reason)) ?? [];
  for (const replacement of replacements) await deliver(options, replacement, undefined);
  const last = replacements.at(-1) ?? batch;
  if (last.id !== batch.id) {
    await options.ledger.confirm({
      batchId: batch.id,
      lane: batch.lane,
      checkpoint: batch.checkpoint,
      marks: {},
      counts: {},
    });
  }
}

async function confirm(options: RunnerOptions, batch: Batch, written: Written): Promise<void> {
  const counts: Partial<Record<CounterName, number>> = {
    sentRows: written.rows,
    sentBytes: written.bytes,
    ...batch.counts,
  };
  await options.ledger.confirm({
    batchId: batch.id,
    lane: batch.lane,
    checkpoint: batch.checkpoint,
    marks: batch.marks ?? {},
    counts: Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== 0)),
  });
  await options.source.acknowledge(batch);
}
