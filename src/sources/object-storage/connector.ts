/** The object storage connector: checks a configuration and opens a source. */
import { memberError } from "../../lib/errors.ts";
import { withinTime } from "../../lib/within-time.ts";
import { defineConnector } from "../contract/define-connector.ts";
import { requireTable } from "../contract/destination.ts";
import type { Discovery } from "../contract/discovery.ts";
import type { Listed, ListingPage, SourceListing } from "../contract/listing.ts";
import type {
  CheckOptions,
  DiscoverOptions,
  ListOptions,
  NetworkContext,
  RowReplayContext,
  SourceContext,
  TargetTable,
} from "../contract/source.ts";
import type { ObjectDurable } from "./declaration/durable.ts";
import type { ObjectStorageConfig } from "./declaration/kind.ts";
import { conflictingFields } from "./reading/fields.ts";
import { bridgeModeOf, inferFormat, isBzip2, type ObjectFormat } from "./reading/formats.ts";
import { LineReplay } from "./reading/line-replay.ts";
import { ObjectBridge } from "./reading/object-bridge.ts";
import { ObjectStatements } from "./reading/reading.ts";
import { checkSample, discoverObject } from "./reading/samples.ts";
import { keyPattern } from "./selection/glob.ts";
import { ObjectSource } from "./source.ts";
import { locationOf, notifiedBucket } from "./stores/location.ts";
import { bytesOf, type FolderStore, type ObjectStore } from "./stores/store.ts";
import { invalidMember } from "./stores/store-error.ts";

export const objectStorageConnector = defineConnector<ObjectStorageConfig>({
  async check(config: ObjectStorageConfig, options: CheckOptions, signal: AbortSignal): Promise<void> {
    const { network, query, run, validateSamples, warn } = options;
    const { store, pattern } = await openStore(config, network);
    const bridge = new ObjectBridge(store, network);
    const destination = requireTable(options.destination);
    const reading = (columns: TargetTable["columns"]) =>
      new ObjectStatements(store, bridge, config, { ...destination, columns });
    try {
      const { first, exact } = await run.reach("bucket", () => firstObject(store, pattern, signal));
      const format = await run.check("format", () => {
        const member = config.url === undefined ? "path" : "url";
        const hint = first === undefined && /[[\]{}]/.test(pattern) ? ` ${literalHint}` : "";
        if (exact && first === undefined) {
          throw invalidMember(member, `The object "${pattern}" does not exist.${hint}`);
        }
        if (hint !== "")
          warn({ path: `source.objectStorage.${member}`, message: `No object that was looked at matches.${hint}` });
        return requireFormat(config, first?.key ?? pattern);
      });
      await run.check("mapping", () => requireMapping(destination, format));
      const { queueUrl } = config;
      if (queueUrl !== undefined) await run.check("queue", () => checkQueue(config, queueUrl, network, signal));
      if (!validateSamples) return;
      await run.check("samples", () => checkSample(first, format, reading, { destination, query }, signal));
    } finally {
      bridge.close();
      store.close();
    }
  },

  async discover(
    config: ObjectStorageConfig,
    { network, query }: DiscoverOptions,
    signal: AbortSignal,
  ): Promise<Discovery> {
    const { store, pattern } = await openStore(config, network);
    const bridge = new ObjectBridge(store, network);
    try {
      const { first } = await firstObject(store, pattern, signal);
      const reading = new ObjectStatements(store, bridge, config, { database: "", table: "", columns: [] });
      const format = config.format ?? inferFormat(first?.key ?? pattern);
      return await discoverObject(first, format, reading, { query, delimiter: config.delimiter }, signal);
    } finally {
      bridge.close();
      store.close();
    }
  },

  async rowReplay(config: ObjectStorageConfig, context: RowReplayContext) {
    return new LineReplay(config, context);
  },

  async list(config: ObjectStorageConfig, { network, page }: ListOptions, signal: AbortSignal) {
    const { store, pattern } = await openStore(config, network);
    try {
      return await listFolder(store, pattern, page, signal);
    } finally {
      store.close();
    }
  },

  async load(config: ObjectStorageConfig) {
    await (locationOf(config).store === "s3" ? import("./stores/s3.ts") : import("./stores/azure.ts"));
  },

  async open(config: ObjectStorageConfig, context: SourceContext<ObjectDurable>) {
    const { network } = context;
    const { store, pattern } = await openStore(config, network);
    const queue = config.queueUrl === undefined ? undefined : await openQueue(config, config.queueUrl, network);
    return new ObjectSource({ config, context, store, pattern, queue });
  },
});

const literalHint =
  "Braces and brackets stand for themselves: only ?, * and ** are patterns, and alternatives are pipes of their own.";

/** The first object with content that the pattern selects, among the first thousand of its prefix. */
async function firstObject(store: ObjectStore, pattern: string, signal: AbortSignal) {
  const { prefix, exact, matches } = keyPattern(pattern);
  const page = await store.list(prefix, undefined, signal);
  return { first: page.files.find((file) => file.size > 0 && matches(file.key)), exact };
}

function requireFormat(config: ObjectStorageConfig, key: string): ObjectFormat {
  const format = config.format ?? inferFormat(key);
  if (format === undefined) {
    throw invalidMember("format", "The format is not clear from the url; set source.objectStorage.format.");
  }
  checkCompression(config, key, format);
  return format;
}

function requireMapping({ columns }: TargetTable, format: ObjectFormat): void {
  const [conflict] = conflictingFields(columns, format);
  if (conflict === undefined) return;
  const message = `The field "${conflict}" is mapped as a value and as the parent of another field.`;
  throw memberError("SOURCE_INVALID", "fieldMappings", message);
}

/** The embedded engine is built without bzip2, and we decompress only formats that are read sequentially. */
function checkCompression(config: ObjectStorageConfig, key: string, format: ObjectFormat): void {
  if (!isBzip2(key, config.compression) || bridgeModeOf(key, format, config.compression) !== undefined) return;
  const remedy = `use the compression of ${format} itself, or none`;
  throw invalidMember("compression", `${format} inside bzip2 cannot be read; ${remedy}.`);
}

async function checkQueue(
  config: ObjectStorageConfig,
  queueUrl: string,
  network: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const queue = await openQueue(config, queueUrl, network);
  try {
    await queue.check(signal);
  } finally {
    queue.close();
  }
}

async function openQueue(config: ObjectStorageConfig, queueUrl: string, network: NetworkContext) {
  const { SqsQueue } = await import("./queue/queue.ts");
  return new SqsQueue(config, queueUrl, network, notifiedBucket(locationOf(config)));
}

async function openStore(
  config: ObjectStorageConfig,
  network: NetworkContext,
): Promise<{ store: FolderStore; pattern: string }> {
  const location = locationOf(config);
  if (location.store === "s3") {
    const { S3Store } = await import("./stores/s3.ts");
    return { store: new S3Store(location, config, network), pattern: location.pattern };
  }
  const { AzureStore } = await import("./stores/azure.ts");
  return { store: new AzureStore(location, config, network), pattern: location.pattern };
}

/** One request counts up to a thousand objects of a prefix. */
const counting = { ms: 4_000, concurrency: 8 };

/**
 * Prefixes and objects directly below `within`; without it, below the folder of the pattern's part before the first
 * wildcard. The cursor is the store's own.
 */
async function listFolder(
  store: FolderStore,
  pattern: string,
  { within, cursor, limit }: ListingPage,
  signal: AbortSignal,
): Promise<SourceListing> {
  const folder = folderOf(within ?? keyPattern(pattern).prefix);
  const page = await store.folder(folder, cursor, limit, signal);
  const counts = await withinTime(page.prefixes, counting, (prefix) => count(store, prefix, signal));
  const prefixes = page.prefixes.map((prefix, at): Listed<"prefixes"> => ({ prefix, ...counts[at] }));
  const objects = page.files.map(({ key, size }) => ({ key, bytes: size }));
  return { prefixes, objects, ...(page.token === undefined ? {} : { nextCursor: page.token }) };
}

async function count(
  store: ObjectStore,
  prefix: string,
  signal: AbortSignal,
): Promise<Omit<Listed<"prefixes">, "prefix">> {
  const { files, more } = await store.list(prefix, undefined, signal);
  return { objects: files.length, bytes: bytesOf(files), ...(more ? { hasMore: true } : {}) };
}

function folderOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf("/") + 1);
}
