/**
 * The order that every connector shares: save the intent, insert with a token, save the checkpoint, acknowledge. A crash
 * between any two steps leaves an intent, which is replayed first the next time: the same rows, cut at the same places,
 * under the same token and settings, so the engine recognises what it already has.
 */
import type { Batch, CounterName, Insert, Json, JsonObject, Refusal, Source } from "../sources/source.ts";
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
  /** Puts other intents in the place of one, in one transaction. */
  replace(change: { batchId: string; intents: readonly FrozenIntent[] }): Promise<void>;
  /** Removes the intent and saves the rest, in one transaction; nothing happens when `begun` and there is no intent. */
  confirm(done: Confirmed): Promise<void>;
};

export type Confirmed = {
  readonly batchId: string;
  readonly lane: string;
  /** The batch had an intent. */
  readonly begun: boolean;
  readonly checkpoint: Json | undefined;
  readonly marks: Readonly<Record<string, Json>>;
  readonly counts: Readonly<Record<string, number>>;
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

/** The engine did not take these rows, and trying the same again at once will not change that. Safe to show. */
export class RefusedInsert extends Error {
  override readonly name = "RefusedInsert";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/**
 * Batches that may become durable while an older one is still on its way. The engine remembers a limited number of
 * tokens per table: a batch that is retried for long must not find its own forgotten because others went on.
 */
const maxOvertaking = 1000;

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
    await lanes.overtakenAtMost(maxOvertaking);
    if (signal.aborted) break;
  }
  await lanes.drain();
}

async function deliver(
  options: RunnerOptions,
  batch: Batch,
  frozen: FrozenIntent["intent"] | undefined,
): Promise<void> {
  const { intent } = frozen === undefined ? freeze(options, batch) : { intent: frozen };
  const begun = frozen !== undefined || batch.inserts.length > 0;
  if (frozen === undefined && begun) await options.ledger.begin(freeze(options, batch));
  let written: Written = { rows: 0, bytes: 0 };
  try {
    written = await insertAll(options, batch, intent.token, intent.settings);
  } catch (error) {
    if (!(error instanceof RefusedInsert) || options.source.refused === undefined) throw error;
    await deliverInstead(options, batch, error.refusal);
    return;
  }
  await confirm(options, batch, begun, written);
}

function freeze(options: RunnerOptions, batch: Batch): FrozenIntent {
  const token = `${options.tokenPrefix}:${batch.id}`;
  return { batchId: batch.id, lane: batch.lane, intent: { replay: batch.replay, token, settings: batch.settings } };
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
 * Delivers what the source puts in the place of a refused batch. The decision becomes durable first: a crash after it
 * goes on with the replacements and never asks the engine about the refused batch again, whose answer might differ then.
 */
async function deliverInstead(options: RunnerOptions, batch: Batch, refusal: Refusal): Promise<void> {
  const replacements = (await options.source.refused?.(batch, refusal, options.signal)) ?? [];
  const [only] = replacements;
  if (replacements.length === 1 && only?.id === batch.id && only.inserts.length === 0) {
    return await confirm(options, only, true, { rows: 0, bytes: 0 });
  }
  const intents = replacements.filter(({ inserts }) => inserts.length > 0).map((other) => freeze(options, other));
  await options.ledger.replace({ batchId: batch.id, intents });
  const frozen = new Map(intents.map(({ batchId, intent }) => [batchId, intent]));
  for (const replacement of replacements) await deliver(options, replacement, frozen.get(replacement.id));
}

async function confirm(options: RunnerOptions, batch: Batch, begun: boolean, written: Written): Promise<void> {
  const counts: Partial<Record<CounterName, number>> = {
    sentRows: written.rows,
    sentBytes: written.bytes,
    ...batch.counts,
  };
  await options.ledger.confirm({
    batchId: batch.id,
    lane: batch.lane,
    begun,
    checkpoint: batch.checkpoint,
    marks: batch.marks ?? {},
    counts: Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== 0)),
  });
  await options.source.acknowledge(batch);
}
