/** What is looked at when a pipe is created or its source is changed: the store, the mapping, and samples if asked for. */
import { AppError } from "../../lib/errors.ts";
import type { CheckOptions } from "../source.ts";
import { formatOf, type ObjectFormat } from "./format.ts";
import { loadOf } from "./grouping.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import { type Load, selectRows } from "./load.ts";
import { matcherOf, nameOf, parseLocation } from "./location.ts";
import { openStore } from "./open-store.ts";
import { readShape } from "./shape.ts";
import type { ObjectStore, StoredObject } from "./store.ts";

const maxSamples = 3;
const sampleRows = 100;

/** Throws AppError SOURCE_* or SOURCE_INVALID with the offending field and sample. */
export async function checkObjects(
  config: ObjectStorageConfig,
  options: CheckOptions,
  signal: AbortSignal,
): Promise<void> {
  const location = parseLocation(config);
  const store = await openStore(config, location);
  try {
    if (config.queueUrl !== undefined) await checkQueue(config, config.queueUrl, signal);
    const samples = await findSamples(store, matcherOf(location.pattern), signal);
    const format = requireFormat(config, samples[0]?.key ?? location.pattern);
    readShape(format, options.destination.columns);
    if (!options.validateSamples) return;
    const grouping = { config, location, context: { settings: {}, destination: options.destination } };
    for (const sample of samples) {
      const load = loadOf([sample], requireFormat(config, sample.key), grouping);
      await checkSample(load, options, await store.readParams());
    }
  } finally {
    store.close();
  }
}

async function checkQueue(config: ObjectStorageConfig, queueUrl: string, signal: AbortSignal): Promise<void> {
  const { checkQueue: check } = await import("./queue-check.ts");
  await check(config, queueUrl, signal);
}

async function findSamples(
  store: ObjectStore,
  matches: (key: string) => boolean,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  let cursor: string | undefined;
  do {
    const page = await store.page({ after: undefined, cursor }, signal);
    const samples = page.objects.filter(({ key }) => matches(key)).slice(0, maxSamples);
    if (samples.length > 0) return samples;
    cursor = page.cursor;
  } while (cursor !== undefined);
  return [];
}

type Params = Readonly<Record<string, string>>;

/** Reads the beginning of one object as the pipe would. */
async function checkSample(load: Load, options: CheckOptions, params: Params): Promise<void> {
  const cause = await failure(load, options, params);
  if (cause === undefined) return;
  const [sample] = load.objects as [StoredObject];
  const field = namedField(cause.message) ?? (await guiltyField(load, options, params));
  const column = options.destination.columns.find(({ sourceField }) => sourceField === field);
  const about = field === undefined ? "" : `field ${field}${column === undefined ? "" : ` as ${column.type}`}: `;
  const reason = cause.message.split("\n")[0];
  const message = `The sample ${nameOf(load.location, sample.key)} cannot be loaded: ${about}${reason}`;
  throw new AppError("SOURCE_INVALID", message, { cause, issues: [{ path: "source.objectStorage", message }] });
}

async function failure(load: Load, options: CheckOptions, params: Params): Promise<Error | undefined> {
  const settings = "date_time_input_format = 'best_effort', input_format_avro_allow_missing_fields = 1";
  const delimiter = load.settings.format_csv_delimiter;
  const csv = delimiter === undefined ? "" : ", format_csv_delimiter = {delimiter:String}";
  const own = delimiter === undefined ? params : { ...params, delimiter: String(delimiter) };
  try {
    await options.query(`${selectRows(load)} LIMIT ${sampleRows} SETTINGS ${settings}${csv}`, own);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The field that the engine's message names. */
function namedField(message: string): string | undefined {
  return (
    /while reading the value of key ([^)]+)\)/.exec(message)?.[1] ??
    /name: ([^,\n]+), +type: [^\n]*ERROR/.exec(message)?.[1]?.trim()
  );
}

/** Reads one field after the other: the first that fails alone is the guilty one. */
async function guiltyField(load: Load, options: CheckOptions, params: Params): Promise<string | undefined> {
  if (load.format === "CSV" || load.format === "TabSeparated" || load.columns.length < 2) return undefined;
  for (const column of load.columns) {
    const alone = await failure({ ...load, columns: [column] }, options, params);
    if (alone !== undefined) return column.sourceField;
  }
  return undefined;
}

function requireFormat(config: ObjectStorageConfig, name: string): ObjectFormat {
  const format = formatOf(config, name);
  if (format !== undefined) return format;
  throw new AppError("SOURCE_INVALID", `The format of ${name} cannot be told from its suffix; set format.`);
}
