/**
 * What becomes of a load that the engine refused. A group is taken apart, so that one object does not block the others.
 * A malformed text object is loaded without its malformed rows, which are recorded. What cannot be read is tried again,
 * then recorded. An object that was replaced is loaded in its new version.
 */
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, JsonObject, Refusal, SourceContext } from "../source.ts";
import { type Scan, scanBadRows } from "./bad-rows.ts";
import { textFormats } from "./format.ts";
import { batchOf, givenUp, type Load, replacedMark } from "./load.ts";
import { nameOf } from "./location.ts";
import { patiently } from "./patience.ts";
import { groupBytes } from "./settings.ts";
import type { ObjectStore, StoredObject } from "./store.ts";

/** Pauses before an object that cannot be read is tried again, in ms. */
const retryPauses = [500, 1000, 2000] as const;

/** Refusals that are about the store, not about the data: 499 is the engine's code for errors of the store. */
const storeError = 499;

export class RefusedLoads {
  readonly #context: SourceContext;
  readonly #store: ObjectStore;
  /** Tries per batch id in this run. */
  readonly #tries = new Map<string, number>();

  constructor(context: SourceContext, store: ObjectStore) {
    this.#context = context;
    this.#store = store;
  }

  async decide(batch: Batch, refusal: Refusal, signal: AbortSignal): Promise<readonly Batch[]> {
    const load = batch.replay as unknown as Load;
    if (load.objects.length > 1) return load.objects.map((object) => this.#batch({ ...load, objects: [object] }));
    const [object] = load.objects as [StoredObject];
    const replaced = refusal.message.includes(replacedMark);
    if (replaced || refusal.code === storeError) {
      const present = await patiently(this.#context, () => this.#store.head(object.key, signal), signal);
      if (present === undefined) return await this.#giveUp(load, batch, "was deleted before it was loaded");
      if (present.etag !== object.etag) return await this.#newVersion(load, batch, present);
      if (replaced) throw etagsDiffer(nameOf(load.location, object.key));
    } else if (textFormats.has(load.format) && load.tolerant === undefined) {
      const scan = await this.#scan(load);
      if (scan !== undefined && scan.rejected.length > 0) return await this.#withoutBadRows(load, batch, scan);
    }
    const tries = this.#tries.get(batch.id) ?? 0;
    const pause = retryPauses[tries];
    if (pause === undefined) return await this.#giveUp(load, batch, refusal.message);
    this.#tries.set(batch.id, tries + 1);
    await sleep(pause, signal);
    signal.throwIfAborted();
    return [batch];
  }

  #batch(load: Load): Batch {
    return batchOf(load, this.#context.destination, () => this.#store.readParams());
  }

  /** Undefined when the object could not be read again as it was: another try of the load will tell why. */
  async #scan(load: Load): Promise<Scan | undefined> {
    try {
      return await scanBadRows(load, this.#context.query, await this.#store.readParams());
    } catch (error) {
      if (error instanceof Error && error.name === "RefusedInsert") return undefined;
      throw error;
    }
  }

  async #withoutBadRows(load: Load, batch: Batch, scan: Scan): Promise<Batch[]> {
    const { rejected, anyGood } = scan;
    await this.#context.reject(rejected, `${batch.id}:rows`);
    if (!anyGood) return [givenUp(load, batch.lane, rejected.length)];
    return [this.#batch({ ...load, tolerant: { rejected: rejected.length } })];
  }

  async #giveUp(load: Load, batch: Batch, message: string): Promise<Batch[]> {
    const [object] = load.objects as [StoredObject];
    this.#tries.delete(batch.id);
    await this.#context.reject([{ origin: nameOf(load.location, object.key), message }], `${batch.id}:object`);
    return [givenUp(load, batch.lane, 1)];
  }

  /** Loads the present version instead, unless that was done before. */
  async #newVersion(load: Load, batch: Batch, present: StoredObject): Promise<Batch[]> {
    const name = nameOf(load.location, present.key);
    const mark = (await this.#context.marks.get([name])).get(name) as JsonObject | undefined;
    const partly = (load.objects[0]?.size ?? 0) > groupBytes;
    if (partly) {
      const message = "was replaced while it was being loaded: rows of the former version may be in the table";
      await this.#context.reject([{ origin: name, message }], `${batch.id}:replaced`);
    }
    if (mark?.etag === present.etag || present.size === 0) {
      return [{ ...givenUp(load, batch.lane, 0), marks: {}, counts: {} }];
    }
    const { tolerant: _, ...strict } = load;
    return [this.#batch({ ...strict, objects: [present] })];
  }
}

function etagsDiffer(name: string): AppError {
  const message = `The store names the version of ${name} in one way when listing and in another when reading.`;
  return new AppError("SOURCE_INVALID", message);
}
