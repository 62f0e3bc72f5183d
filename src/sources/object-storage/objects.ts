/**
 * The object storage source. Every object version that matches is loaded once: what is done is marked by key and etag, so
 * a restart, a late key and a replaced object are all told apart from what is already in the table.
 */
import { createHash } from "node:crypto";
import type { S3Client } from "@aws-sdk/client-s3";
import { sleep } from "../../lib/abort.ts";
import { AppError } from "../../lib/errors.ts";
import type { Batch, CheckOptions, Connector, Json, JsonObject, Source, SourceContext } from "../source.ts";
import { formatOf, type ObjectFormat } from "./format.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { createClient, type Listed, listObjects } from "./listing.ts";
import { type Location, matcherOf, parseLocation } from "./location.ts";
import { credentials, isPlainKey, loadStatement, type StoredObject, selectObjects } from "./select.ts";
import { groupBytes, loadSettings } from "./settings.ts";

export type InsertValues = Readonly<Record<string, string | number>>;

/** While polling looks only behind the last key, a sweep of everything finds late keys and replaced objects. */
const sweepEveryMs = 10 * 60_000;
/** Trouble with the store is retried for this long before the pipe fails. */
const giveUpAfterMs = 15 * 60_000;

export const objectStorageConnector: Connector<ObjectStorageConfig> = {
  check: checkObjects,
  open: async (config, context) => new ObjectSource(config, context),
};

async function checkObjects(config: ObjectStorageConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
  refuseUnsupported(config);
  const location = parseLocation(config);
  const client = createClient(config, location);
  try {
    const matches = matcherOf(location.pattern);
    for await (const page of listObjects(client, location, { signal })) {
      const sample = page.find((object) => matches(object.key));
      if (sample === undefined) continue;
      const format = requireFormat(config, sample.key);
      if (options.validateSamples) await checkSample(config, location, format, sample, options);
      return;
    }
    requireFormat(config, location.pattern);
  } finally {
    client.destroy();
  }
}

/** Reads the beginning of one object as the pipe would, and reports what the engine says about it. */
async function checkSample(
  config: ObjectStorageConfig,
  location: Location,
  format: ObjectFormat,
  sample: StoredObject,
  options: CheckOptions,
): Promise<void> {
  const { destination } = options;
  const select = selectObjects({ config, location, format, destination, objects: [sample] });
  try {
    await options.query(`${select} LIMIT 100`, credentials(config));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new AppError("SOURCE_INVALID", `The sample ${sample.key} cannot be loaded: ${reason}`, { cause });
  }
}

function requireFormat(config: ObjectStorageConfig, name: string): ObjectFormat {
  const format = formatOf(config, name);
  if (format !== undefined) return format;
  throw new AppError("SOURCE_INVALID", `The format of ${name} cannot be told from its suffix; set format.`);
}

function refuseUnsupported(config: ObjectStorageConfig): void {
  const unsupported = [
    ["queueUrl", config.queueUrl],
    ["azureContainerName", config.azureContainerName],
    ["connectionString", config.connectionString],
    ["iamRole", config.iamRole],
  ].find(([, value]) => value !== undefined);
  if (unsupported === undefined) return;
  throw new AppError("SOURCE_INVALID", `This version cannot run object storage pipes with ${unsupported[0]} yet.`);
}

class ObjectSource implements Source {
  readonly #config: ObjectStorageConfig;
  readonly #context: SourceContext;
  readonly #location: Location;
  readonly #client: S3Client;
  /** Versions handed out in this run, by key: their marks may not be saved yet. */
  readonly #handedOut = new Map<string, string>();

  constructor(config: ObjectStorageConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#location = parseLocation(config);
    this.#client = createClient(config, this.#location);
  }

  async replay(replay: JsonObject): Promise<Batch> {
    const objects = replay.objects as unknown as StoredObject[];
    for (const object of objects) this.#handedOut.set(object.key, object.etag);
    return this.#batch(objects);
  }

  async *read(_checkpoints: ReadonlyMap<string, Json>, signal: AbortSignal): AsyncGenerator<Batch> {
    const pollMs = Number(this.#context.settings.object_storage_polling_interval_ms ?? 30_000);
    let lastKey = this.#config.startAfter;
    let sweptAt = Date.now();
    let troubledSince: number | undefined;
    while (!signal.aborted) {
      const sweep = Date.now() - sweptAt >= sweepEveryMs;
      try {
        for await (const page of this.#pages(sweep ? this.#config.startAfter : lastKey, signal)) {
          const last = page.at(-1)?.key;
          if (last !== undefined && (lastKey === undefined || last > lastKey)) lastKey = last;
          yield* this.#batches(await this.#news(page));
        }
        if (sweep) sweptAt = Date.now();
        if (troubledSince !== undefined) this.#context.trouble(undefined);
        troubledSince = undefined;
        if (this.#config.isContinuous !== true) return;
      } catch (error) {
        if (!(error instanceof AppError) || signal.aborted) throw error;
        troubledSince ??= Date.now();
        if (Date.now() - troubledSince > giveUpAfterMs) throw error;
        this.#context.trouble(error.message);
      }
      await sleep(pollMs, signal);
    }
  }

  async acknowledge(batch: Batch): Promise<void> {
    for (const key of Object.keys(batch.marks ?? {})) this.#handedOut.delete(key);
  }

  /** A group is taken apart; a single object is recorded in the error table and marked, so that it blocks nothing. */
  async refused(batch: Batch, reason: string): Promise<readonly Batch[]> {
    const objects = batch.replay.objects as unknown as StoredObject[];
    if (objects.length > 1) return objects.map((object) => this.#batch([object]));
    const [object] = objects as [StoredObject];
    await this.#context.reject([{ origin: `${this.#location.bucket}/${object.key}`, message: reason }]);
    return [
      {
        ...batch,
        inserts: [],
        marks: { [object.key]: { etag: object.etag, failed: true } },
        counts: { filesFailed: 1 },
      },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }

  async *#pages(startAfter: string | undefined, signal: AbortSignal): AsyncGenerator<Listed[]> {
    const matches = matcherOf(this.#location.pattern);
    for await (const page of listObjects(this.#client, this.#location, { startAfter, signal })) {
      yield page.filter((object) => matches(object.key) && object.size > 0);
    }
  }

  /** The objects of a page whose version is neither done nor handed out. */
  async #news(page: readonly Listed[]): Promise<Listed[]> {
    const marks = await this.#context.marks.get(page.map((object) => object.key));
    return page.filter((object) => {
      const mark = marks.get(object.key) as JsonObject | undefined;
      return mark?.etag !== object.etag && this.#handedOut.get(object.key) !== object.etag;
    });
  }

  *#batches(objects: readonly Listed[]): Generator<Batch> {
    const maxFiles = Number(this.#context.settings.object_storage_max_file_count ?? 100);
    const maxBytes = Math.min(groupBytes, Number(this.#context.settings.object_storage_max_insert_bytes ?? groupBytes));
    let group: Listed[] = [];
    let bytes = 0;
    for (const object of objects) {
      const alone = object.size >= maxBytes || !isPlainKey(object.key);
      const differs =
        group[0] !== undefined && formatOf(this.#config, group[0].key) !== formatOf(this.#config, object.key);
      if (group.length > 0 && (alone || differs || group.length >= maxFiles || bytes + object.size > maxBytes)) {
        yield this.#handOut(group);
        group = [];
        bytes = 0;
      }
      group.push(object);
      bytes += object.size;
      if (alone) {
        yield this.#handOut(group);
        group = [];
        bytes = 0;
      }
    }
    if (group.length > 0) yield this.#handOut(group);
  }

  #handOut(listed: readonly Listed[]): Batch {
    for (const object of listed) this.#handedOut.set(object.key, object.etag);
    return this.#batch(listed.map(({ key, etag, size }) => ({ key, etag, size })));
  }

  /** Depends on nothing but the objects and the configuration, so a replay is the same batch. */
  #batch(objects: readonly StoredObject[]): Batch {
    const id = createHash("sha256").update(JSON.stringify(objects)).digest("hex").slice(0, 32);
    const format = requireFormat(this.#config, objects[0]?.key ?? "");
    const { destination, settings } = this.#context;
    const bytes = objects.reduce((sum, object) => sum + object.size, 0);
    return {
      lane: id,
      id,
      replay: { objects: objects as unknown as JsonObject[] },
      checkpoint: undefined,
      inserts: [loadStatement({ config: this.#config, location: this.#location, format, destination, objects })],
      settings: loadSettings(settings, { grouped: bytes <= groupBytes, delimiter: this.#config.delimiter }),
      marks: Object.fromEntries(objects.map(({ key, etag }) => [key, { etag }])),
      counts: { filesLoaded: objects.length, fetchedBytes: bytes },
    };
  }
}
