/**
 * The object storage source. Every object version that matches is loaded once: what is done is marked by name and etag,
 * so a restart, a late key and a replaced object are all told apart from what is already in the table.
 */
import { createHash } from "node:crypto";
import { sleep } from "../../lib/abort.ts";
import type { Batch, Connector, Json, JsonObject, Refusal, Source, SourceContext } from "../source.ts";
import { checkObjects } from "./check.ts";
import { formatOf } from "./format.ts";
import { loadOf, loadsOf } from "./grouping.ts";
import { InFlight } from "./in-flight.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { type Found, Lister } from "./lister.ts";
import { batchOf, givenUp, type Load } from "./load.ts";
import { type Location, nameOf, parseLocation } from "./location.ts";
import { Notifications } from "./notifications.ts";
import { openStore } from "./open-store.ts";
import { Progress } from "./progress.ts";
import { RefusedLoads } from "./refused.ts";
import type { ObjectStore, StoredObject } from "./store.ts";

export const objectStorageConnector: Connector<ObjectStorageConfig> = {
  check: checkObjects,
  open: async (config, context) => {
    const location = parseLocation(config);
    return new ObjectSource(config, context, location, await openStore(config, location));
  },
};

const listingLane = "listing";

class ObjectSource implements Source {
  readonly #config: ObjectStorageConfig;
  readonly #context: SourceContext;
  readonly #location: Location;
  readonly #store: ObjectStore;
  readonly #lister: Lister;
  readonly #refused: RefusedLoads;
  readonly #progress: Progress;
  readonly #inFlight = new InFlight();
  #notifications: Notifications | undefined;
  #savedUpTo: string | undefined;
  #savedCount = 0;

  constructor(config: ObjectStorageConfig, context: SourceContext, location: Location, store: ObjectStore) {
    this.#config = config;
    this.#context = context;
    this.#location = location;
    this.#store = store;
    this.#lister = new Lister(context, store, location, this.#inFlight);
    this.#refused = new RefusedLoads(context, store);
    this.#progress = new Progress(context, this.#inFlight);
  }

  async replay(replay: JsonObject): Promise<Batch> {
    const load = replay as unknown as Load;
    for (const object of load.objects) this.#inFlight.add(object);
    return this.#batch(load);
  }

  async *read(checkpoints: ReadonlyMap<string, Json>, signal: AbortSignal): AsyncGenerator<Batch> {
    const saved = checkpoints.get(listingLane) as Listing | undefined;
    const known = saved?.of === this.#fingerprint() ? saved : undefined;
    const { startAfter, isContinuous, queueUrl, skipInitialLoad } = this.#config;
    this.#savedUpTo = known?.after;
    if (isContinuous !== true) {
      const survey = this.#progress.survey(this.#lister, known?.after ?? startAfter, signal);
      yield* this.#forward(known?.after ?? startAfter, signal);
      // The next run of the pipe looks at everything again; marks tell what is done.
      yield this.#checkpoint({ of: this.#fingerprint() });
      return await survey;
    }
    if (queueUrl === undefined) return yield* this.#poll(known?.after ?? startAfter, signal);
    if (known?.initialLoadDone !== true && skipInitialLoad !== true) {
      yield* this.#forward(known?.after ?? startAfter, signal);
    }
    yield* this.#notified(queueUrl, signal);
  }

  async acknowledge(batch: Batch): Promise<void> {
    const objects = (batch.replay.objects ?? []) as unknown as StoredObject[];
    for (const { key } of objects) this.#inFlight.remove(key);
    this.#progress.update();
    const failed = Object.values(batch.marks ?? {}).some((mark) => (mark as JsonObject).failed === true);
    await this.#notifications?.loaded(
      objects.map(({ key }) => key),
      failed,
    );
  }

  async refused(batch: Batch, refusal: Refusal, signal: AbortSignal): Promise<readonly Batch[]> {
    return await this.#refused.decide(batch, refusal, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#notifications?.close();
    this.#store.close();
  }

  /** From the given key to the end of the listing. */
  async *#forward(from: string | undefined, signal: AbortSignal): AsyncGenerator<Batch, string | undefined> {
    let last = from;
    for await (const page of this.#lister.pages(from, signal)) {
      this.#progress.pageDone(page.found.reduce((sum, { size }) => sum + size, 0));
      yield* this.#batches(page.found, true);
      last = page.last ?? last;
      yield* this.#moved(last);
    }
    return last;
  }

  async *#poll(from: string | undefined, signal: AbortSignal): AsyncGenerator<Batch> {
    const pollMs = Number(this.#context.settings.object_storage_polling_interval_ms ?? 30_000);
    let last = from;
    while (!signal.aborted) {
      last = yield* this.#forward(last, signal);
      yield* this.#batches(await this.#lister.sweep(this.#config.startAfter, last, signal), false);
      yield* this.#moved(last);
      await sleep(pollMs, signal);
    }
  }

  async *#notified(queueUrl: string, signal: AbortSignal): AsyncGenerator<Batch> {
    // Objects of the initial load may still be on their way: a crash lists them again.
    while (this.#inFlight.files > 0 && !signal.aborted) await sleep(100, signal);
    yield this.#checkpoint({ of: this.#fingerprint(), initialLoadDone: true });
    this.#notifications = await Notifications.open({
      ...{ queueUrl, config: this.#config, location: this.#location },
      ...{ context: this.#context, store: this.#store, lister: this.#lister },
    });
    for await (const objects of this.#notifications.objects(this.#inFlight, signal)) {
      yield* this.#batches(
        objects.map((object) => ({ ...object, after: undefined })),
        false,
      );
    }
  }

  /** `listed`: a checkpoint of the listing has to wait for them. */
  async *#batches(found: readonly Found[], listed: boolean): AsyncGenerator<Batch> {
    const grouping = { config: this.#config, location: this.#location, context: this.#context };
    for (const object of found) this.#inFlight.add(object, listed ? object : undefined);
    for (const { key, etag, size } of found) {
      if (formatOf(this.#config, key) !== undefined) continue;
      const load = loadOf([{ key, etag, size }], "JSONEachRow", grouping);
      const message = "its format cannot be told from its suffix; the pipe has no format set";
      const batch = givenUp(load, listingLane, 1);
      await this.#context.reject([{ origin: nameOf(this.#location, key), message }], `${batch.id}:object`);
      yield batch;
    }
    const objects = found.map(({ key, etag, size }) => ({ key, etag, size }));
    for (const load of loadsOf(objects, grouping)) yield this.#batch(load);
  }

  /** Saves how far the listing is durable, when that is further than before. */
  *#moved(listed: string | undefined): Generator<Batch> {
    const after = this.#inFlight.durableUpTo(listed);
    if (after === undefined || after === this.#savedUpTo) return;
    this.#savedUpTo = after;
    yield this.#checkpoint({ of: this.#fingerprint(), after });
  }

  #checkpoint(listing: Listing): Batch {
    this.#savedCount += 1;
    const id = `${listingLane}:${this.#savedCount}`;
    return { lane: listingLane, id, replay: {}, checkpoint: listing, inserts: [], settings: {} };
  }

  #batch(load: Load): Batch {
    return batchOf(load, this.#context.destination, () => this.#store.readParams());
  }

  /** Positions mean something only for the same place and start. */
  #fingerprint(): string {
    const { startAfter } = this.#config;
    const text = JSON.stringify([nameOf(this.#location, this.#location.pattern), startAfter ?? null]);
    return createHash("sha256").update(text).digest("hex").slice(0, 16);
  }
}

/** The saved position of a listing. */
type Listing = { readonly of: string; readonly after?: string; readonly initialLoadDone?: boolean };
