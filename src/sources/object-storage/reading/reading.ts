/** The statements by which the engine reads exactly the object versions of a batch. */
import { identifier, literal, parameterText, tableName } from "../../../clickhouse/sql.ts";
import type { AppError } from "../../../lib/errors.ts";
import type { SlowInsert } from "../../contract/slow-insert.ts";
import type { Insert, TargetTable } from "../../contract/source.ts";
import { inferenceSettings } from "../../messages/found-fields.ts";
import type { Pack } from "../declaration/durable.ts";
import type { ObjectStorageConfig } from "../declaration/kind.ts";
import { isPlainKey } from "../stores/keys.ts";
import type { ObjectFile, ObjectStore } from "../stores/store.ts";
import { type FieldPlan, fieldPlan } from "./fields.ts";
import { bridgeModeOf, engineCompression, isRowFormat, type ObjectFormat, objectFormatSettings } from "./formats.ts";
import type { ObjectBridge } from "./object-bridge.ts";

/** Objects that one statement of many small ones reads concurrently. */
const smallFileReaders = 8;

/** Appears in the engine's error when an object is not the version that the batch names. */
export const changedMarker = "MILLRACE_OBJECT_CHANGED";

/** Characters of a bad line that are kept. */
const lineLength = 16_384;

/** A block size that no batch reaches: everything the statement reads becomes one block. */
const unlimitedBlock = 2 ** 50;

/** Reading from an unavailable store fails quickly; the runner retries with its own pauses. */
const patience = {
  s3_retry_attempts: 3,
  s3_max_single_read_retries: 3,
  s3_connect_timeout_ms: 5_000,
  s3_request_timeout_ms: 30_000,
};

/**
 * A decompressed stream cannot be read at several offsets at once, and a retry would fail in the same way. A block may
 * take longer than the second for which the engine waits at a first attempt, whose timeouts it shortens by itself.
 */
const unpackedSettings = { max_download_threads: 1, s3_max_single_read_retries: 1, s3_use_adaptive_timeouts: 0 };

/**
 * The packer limits the names of a batch, which stand in the statement twice. The versions that no row has stay in a
 * join, although the condition after it is not true for them: it throws.
 */
const manyNames = { max_query_size: 2 ** 20, query_plan_convert_outer_join_to_inner_join: 0, join_use_nulls: 0 };

export type Statement = {
  readonly sql: string;
  readonly params: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string | number>>;
};

type ReadOptions = Pick<Pack, "oneBlock" | "lenient" | "threads" | "folder">;

export class ObjectStatements {
  readonly #store: ObjectStore;
  readonly #bridge: ObjectBridge;
  readonly #config: ObjectStorageConfig;
  readonly #destination: TargetTable;

  /** Values that do not fit are changed as the engine does, instead of being refused. */
  readonly #lenientValues: boolean;

  constructor(
    store: ObjectStore,
    bridge: ObjectBridge,
    config: ObjectStorageConfig,
    destination: TargetTable,
    lenientValues = false,
  ) {
    this.#store = store;
    this.#bridge = bridge;
    this.#config = config;
    this.#destination = destination;
    this.#lenientValues = lenientValues;
  }

  /**
   * Loads the files. With `oneBlock` everything becomes a single block, whatever the number of reading threads. Without
   * it one thread reads and one inserts, in the file's order, and only parsing is parallel: then blocks are cut at the
   * same rows every time. With more reading threads they were not (8 layouts in 8 runs of one CSV file).
   */
  async insert(
    files: readonly ObjectFile[],
    format: ObjectFormat,
    options: ReadOptions,
    signal: AbortSignal,
  ): Promise<Insert> {
    const { sql, params, settings } = await this.read(files, format, options, signal);
    const columns = this.#destination.columns.map((column) => identifier(column.name)).join(", ");
    const target = tableName(this.#destination.database, this.#destination.table);
    return { sql: `INSERT INTO ${target} (${columns}) ${sql}`, params, settings };
  }

  /** What `insert` reads with the same arguments. */
  async read(files: readonly ObjectFile[], format: ObjectFormat, options: ReadOptions, signal: AbortSignal) {
    const plan = this.#plan(format, options.lenient ? "lenient" : "checked", this.#sizeOf(files, format));
    const { call, params } = await this.#call(files, format, plan.structure, signal, options.folder);
    return {
      sql: `SELECT ${plan.expressions.join(", ")} FROM ${call}${plan.condition}`,
      params,
      settings: {
        ...this.#settings(files, format),
        max_insert_threads: 1,
        ...(options.oneBlock
          ? {
              min_insert_block_size_rows: 0,
              min_insert_block_size_bytes: unlimitedBlock,
              // Waiting takes longer than computing where files are small.
              max_threads: files.length === 1 ? options.threads : Math.max(options.threads, smallFileReaders),
            }
          : { max_threads: 1, max_block_size: 65_409 }),
        max_parsing_threads: options.threads,
        ...(options.lenient ? lenientSettings : {}),
      },
    };
  }

  /** Counts the rows that `insert` loads with the same arguments. */
  async countLoaded(
    files: readonly ObjectFile[],
    format: ObjectFormat,
    { lenient, folder, threads }: { lenient: boolean; folder?: string; threads: number },
    signal: AbortSignal,
  ): Promise<Statement> {
    const plan = this.#plan(format, lenient ? "lenient" : "checked");
    const { call, params } = await this.#call(files, format, plan.structure, signal, folder);
    const parsed = lenient ? ` AND NOT ignore(${plan.fields.map(identifier).join(", ")})` : "";
    const settings = { ...this.#settings(files, format), max_threads: threads, ...(lenient ? lenientSettings : {}) };
    return { sql: `SELECT count() AS rows FROM ${call}${plan.condition}${parsed}`, params, settings };
  }

  /** The object's name in the error table. */
  nameOf(file: ObjectFile): string {
    return this.#store.pathOf(file.key);
  }

  /** Parses every wanted field of the file and counts the rows; loads nothing. */
  async count(file: ObjectFile, format: ObjectFormat, allowedErrors: number, signal: AbortSignal): Promise<Statement> {
    const plan = this.#plan(format, "lenient");
    const fields = plan.fields.map(identifier).join(", ");
    const settings = { input_format_allow_errors_num: allowedErrors };
    const sqlOf = (call: string) => `SELECT count() AS rows FROM ${call} AND NOT ignore(${fields})`;
    return await this.#over({ file, format, signal }, { structure: plan.structure }, settings, sqlOf);
  }

  /** Counts the rows of a file that is not text, and those with integers that do not fit their columns. */
  async countUnfit(file: ObjectFile, format: ObjectFormat, signal: AbortSignal): Promise<Statement> {
    const plan = this.#plan(format, "lenient");
    const sqlOf = (call: string) => `SELECT count() AS rows, countIf(NOT (1${plan.condition})) AS unfit FROM ${call}`;
    return await this.#over({ file, format, signal }, { structure: plan.structure }, {}, sqlOf);
  }

  /**
   * Counts the rows of a text file, readable or not. Fields of CSV and TSV may span lines, so they are parsed as text;
   * a row of JSON is a line.
   */
  async countAll(file: ObjectFile, format: ObjectFormat, signal: AbortSignal): Promise<Statement> {
    const of = { file, format, signal };
    const sqlOf = (call: string) => `SELECT count() AS rows FROM ${call}`;
    if (!format.startsWith("JSON")) {
      return await this.#over(of, { structure: "field Nullable(String)" }, anyFields, sqlOf);
    }
    return await this.#over(of, asLines, {}, (call) => `${sqlOf(call)} AND trimBoth(line) != ''`);
  }

  /** One line of a text file with its size and the object's time, truncated to fit an error table. */
  async line(file: ObjectFile, format: ObjectFormat, index: number, signal: AbortSignal): Promise<Statement> {
    const sqlOf = (call: string) =>
      `SELECT substringUTF8(line, 1, ${lineLength}) AS shown, lengthUTF8(line) <= ${lineLength} AS whole, ` +
      "length(line) AS size, isValidUTF8(line) AS text, toUnixTimestamp(assumeNotNull(_time)) AS time " +
      `FROM ${call} LIMIT 1 OFFSET ${Math.trunc(index)}`;
    return await this.#over({ file, format, signal }, asLines, { max_threads: 1 }, sqlOf);
  }

  /** Counts the lines of a text file. */
  async countLines(file: ObjectFile, format: ObjectFormat, signal: AbortSignal): Promise<Statement> {
    const sqlOf = (call: string) => `SELECT count() AS rows FROM ${call}`;
    return await this.#over({ file, format, signal }, asLines, { optimize_count_from_files: 0 }, sqlOf);
  }

  /** The first lines of a text file with their lengths, each truncated to `bytes`. */
  async lines(file: ObjectFile, format: ObjectFormat, count: number, bytes: number, signal: AbortSignal) {
    const columns = `substring(line, 1, ${Math.trunc(bytes)}) AS shown, length(line) AS bytes`;
    const sqlOf = (call: string) => `SELECT ${columns} FROM ${call} LIMIT ${Math.trunc(count)}`;
    return await this.#over({ file, format, signal }, asLines, { max_threads: 1 }, sqlOf);
  }

  /** The first rows as the pipe would load them. */
  async sample(file: ObjectFile, format: ObjectFormat, rows: number, signal: AbortSignal): Promise<Statement> {
    const plan = this.#plan(format, "lenient");
    const fields = plan.fields.map(identifier).join(", ");
    const sqlOf = (call: string) =>
      `SELECT count() AS rows FROM (SELECT ${fields} FROM ${call} LIMIT ${rows}) WHERE NOT ignore(${fields})`;
    const settings = { max_block_size: rows, max_threads: 1 };
    return await this.#over({ file, format, signal }, { structure: plan.structure }, settings, sqlOf);
  }

  /** Field names and types that the engine infers from the file. */
  async describe(file: ObjectFile, format: ObjectFormat, signal: AbortSignal): Promise<Statement> {
    const { reader, compression } = await this.#reader([file], format, signal);
    return {
      sql: `DESCRIBE TABLE ${reader.head}${literal(format)}, 'auto', ${literal(compression)})`,
      params: escaped(reader.params),
      settings: { ...this.#settings([file], format), ...inferenceSettings, ...firstRows },
    };
  }

  /** An expression over the first rows, with the types that the engine infers. */
  async selectFirst(
    file: ObjectFile,
    format: ObjectFormat,
    expression: string,
    rows: number,
    signal: AbortSignal,
  ): Promise<Statement> {
    const { reader, compression } = await this.#reader([file], format, signal);
    const table = `${reader.head}${literal(format)}, 'auto', ${literal(compression)})`;
    return {
      sql: `SELECT ${expression} FROM (SELECT * FROM ${table} LIMIT ${Math.trunc(rows)})`,
      params: escaped(reader.params),
      settings: {
        ...this.#settings([file], format),
        ...inferenceSettings,
        ...firstRows,
        max_block_size: rows,
        max_threads: 1,
      },
    };
  }

  /** The error found when we decompressed the object for the engine. */
  problemOf(file: ObjectFile): string | undefined {
    return this.#bridge.problemOf(file);
  }

  /** `lenient`: rows that do not fit are errors of the parser, or do not fulfil the condition. */
  #plan(format: ObjectFormat, how: "checked" | "lenient", size?: string): FieldPlan & { readonly condition: string } {
    const checked = format === "Avro" || format === "ORC" ? "wide64" : "wide";
    const reading = this.#lenientValues ? "wrap" : how === "lenient" && isRowFormat(format) ? "each" : checked;
    const plan = fieldPlan(this.#destination.columns, format, reading, size);
    if (how === "checked" || isRowFormat(format)) return { ...plan, condition: "" };
    const condition = plan.fitting.map((fits) => ` AND ${fits}`).join("");
    return { ...plan, expressions: plan.fittingExpressions, condition };
  }

  #bridgeMode([file]: readonly ObjectFile[], format: string) {
    return file && bridgeModeOf(file.key, format, this.#config.compression);
  }

  /** The engine sees decompressed bytes, whose number differs from the object's size. */
  #sizeOf(files: readonly ObjectFile[], format: ObjectFormat): string | undefined {
    if (this.#bridgeMode(files, format) !== "unpacked") return undefined;
    const paths = files.map((file) => literal(this.#store.pathOf(file.key))).join(", ");
    return `transform(toString(_path), [${paths}], [${files.map((file) => file.size).join(", ")}], 0)`;
  }

  async #reader(files: readonly ObjectFile[], format: string, signal: AbortSignal, folder?: string) {
    const keys = files.map(({ key }) => key);
    const mode = this.#bridgeMode(files, format);
    const compression = mode === "unpacked" ? "none" : engineCompression(this.#config.compression);
    const own = this.#store.reader?.bind(this.#store);
    if (own === undefined) return { reader: await this.#bridge.reader(keys, mode ?? "plain", folder), compression };
    if (mode === undefined) return { reader: await own(keys, signal, folder), compression };
    try {
      return { reader: await this.#bridge.reader(keys, mode, folder), compression };
    } catch (error) {
      // A server that is not ours may not reach the bridge, but can read the objects.
      if (mode !== "whole" || (error as AppError).code !== "DESTINATION_INVALID") throw error;
      return { reader: await own(keys, signal, folder), compression };
    }
  }

  #settings(files: readonly ObjectFile[], format: ObjectFormat): Record<string, string | number> {
    const unpacked = this.#bridgeMode(files, format) === undefined ? {} : unpackedSettings;
    const named = files.length > 1 ? manyNames : {};
    return {
      ...patience,
      ...unpacked,
      ...named,
      ...objectFormatSettings(format, this.#config.delimiter, this.#lenientValues),
    };
  }

  /** A statement about one file, which is read `as` something with further settings. */
  async #over(
    { file, format, signal }: { file: ObjectFile; format: ObjectFormat; signal: AbortSignal },
    as: { readonly name?: string; readonly structure: string },
    settings: Statement["settings"],
    sqlOf: (call: string) => string,
  ): Promise<Statement> {
    const { call, params } = await this.#call([file], as.name ?? format, as.structure, signal);
    return { sql: sqlOf(call), params, settings: { ...this.#settings([file], format), ...settings } };
  }

  async #call(files: readonly ObjectFile[], format: string, structure: string, signal: AbortSignal, folder?: string) {
    const { reader, compression } = await this.#reader(files, format, signal, folder);
    const table = `${reader.head}${literal(format)}, ${literal(structure)}, ${literal(compression)})`;
    const pathOf = (key: string) => this.#store.pathOf(key);
    return {
      call: `${table} ${folder === undefined ? `WHERE ${versionGuard(files, pathOf)}` : joinedVersions(files, pathOf)}`,
      params: escaped(reader.params),
    };
  }
}

/** The version that the engine reads, without the quotes that some stores and some of the engine's requests add. */
const bare = "replaceAll(assumeNotNull(_etag), '\"', '')";

/**
 * Every row must come from the versions named: another version of an object fails the statement. A cast keeps 25.8 from
 * checking the dictionary of a column, which has an empty value that no row has.
 */
function versionGuard(files: readonly ObjectFile[], pathOf: (key: string) => string): string {
  const [file] = files as [ObjectFile];
  if (files.length === 1) {
    const mine = isPlainKey(file.key) ? "" : `_path = ${literal(pathOf(file.key))} AND `;
    return `${mine}NOT throwIf(CAST(${mine}${bare} != ${literal(file.etag)}, 'UInt8'), '${changedMarker}')`;
  }
  return `NOT throwIf(${version} NOT IN ${versionsOf(files, pathOf)}, '${changedMarker}')`;
}

/**
 * The same for objects that the engine lists. What else a listing has is ignored. A version without a row fails the
 * statement: its object may be gone, which only a request for the object itself can tell from one without rows.
 */
function joinedVersions(files: readonly ObjectFile[], pathOf: (key: string) => string): string {
  const join = `AS _object RIGHT JOIN ${versionsOf(files, pathOf)} AS _listed ON ${version} = _listed._version`;
  return `${join} WHERE NOT throwIf(CAST(_object._path = '', 'UInt8'), '${changedMarker}')`;
}

const version = `concat(_path, '\\n', ${bare})`;

/** A set of the engine. It costs less than a list of literals, whose text the engine handles again for each object. */
function versionsOf(files: readonly ObjectFile[], pathOf: (key: string) => string): string {
  const versions = files.map(({ key, etag }) => literal(`${pathOf(key)}\n${etag}`));
  return `(SELECT arrayJoin([${versions.join(", ")}]) AS _version)`;
}

const asLines = { name: "LineAsString", structure: "line String" };

const firstRows = { input_format_max_rows_to_read_for_schema_inference: 1000 };

const lenientSettings = { input_format_allow_errors_num: Number.MAX_SAFE_INTEGER, input_format_allow_errors_ratio: 1 };

/** Rows may have any number of fields, and a header any names. */
const anyFields = {
  input_format_csv_allow_variable_number_of_columns: 1,
  input_format_tsv_allow_variable_number_of_columns: 1,
  input_format_skip_unknown_fields: 1,
  input_format_with_names_use_header: 0,
  ...lenientSettings,
  optimize_count_from_files: 0,
};

function escaped(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, parameterText(value)]));
}

/** What fits into one block is read in seconds. */
const slowMs = 120_000;

/** What a pipe shows while objects of one block are read for long; by their names. */
export function slowReading([first, ...others]: readonly string[]): Pick<SlowInsert, "afterMs" | "warning"> {
  const more = others.length === 0 ? "" : ` (or one of ${others.length} others)`;
  const warning = `The object ${first}${more} has been read for 2 minutes; a damaged file can block the engine.`;
  return { afterMs: slowMs, warning };
}
