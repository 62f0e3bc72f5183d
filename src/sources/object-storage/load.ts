/**
 * What one insert loads. A `Load` is saved as the batch's intent and holds everything that decides about rows, their
 * order and how they are cut: object versions, place, format, mapping and engine settings. A replay therefore does not
 * see edits made meanwhile. Only credentials are taken fresh.
 */
import { createHash } from "node:crypto";
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import type { Batch, DestinationTable, Insert, JsonObject } from "../source.ts";
import type { Access } from "./aws.ts";
import type { ObjectFormat } from "./format.ts";
import { type Location, nameOf } from "./location.ts";
import { type InsertValues, tolerance } from "./settings.ts";
import { readShape } from "./shape.ts";
import type { StoredObject } from "./store.ts";

export type Load = {
  /** One object, or several with plain keys. */
  readonly objects: readonly StoredObject[];
  readonly location: Location;
  readonly format: ObjectFormat;
  readonly compression: string;
  readonly columns: DestinationTable["columns"];
  readonly settings: InsertValues;
  /** Malformed rows are left out: they have been recorded. */
  readonly tolerant?: { readonly rejected: number };
};

/** In the message of an insert that met another version of an object than the one it is meant to load. */
export const replacedMark = "millrace: another version";

/** Keys that may stand in a `{a,b}` list, where these characters have a meaning of their own. */
export function isPlainKey(key: string): boolean {
  return !/[{},*?\\]/.test(key);
}

/** The id, and with it the token, names the object versions alone: a more tolerant second try continues the first. */
export function loadId(load: Load): string {
  const versions = load.objects.map(({ key, etag, size }) => [nameOf(load.location, key), etag, size]);
  return createHash("sha256").update(JSON.stringify(versions)).digest("hex").slice(0, 32);
}

export function batchOf(load: Load, destination: DestinationTable, readParams: Insert["params"]): Batch {
  const id = loadId(load);
  const bytes = load.objects.reduce((sum, object) => sum + object.size, 0);
  const rejected = load.tolerant?.rejected ?? 0;
  return {
    lane: id,
    id,
    replay: load as unknown as JsonObject,
    checkpoint: undefined,
    inserts: [insertOf(load, destination, readParams)],
    settings: load.tolerant === undefined ? load.settings : { ...load.settings, ...tolerance },
    marks: Object.fromEntries(load.objects.map(({ key, etag }) => [nameOf(load.location, key), { etag }])),
    counts: { ...foundCounts(load), filesLoaded: load.objects.length, fetchedBytes: bytes, errors: rejected },
  };
}

/** The batch that ends with an object without loading it. */
export function givenUp(load: Load, lane: string, errors: number): Batch {
  return {
    lane,
    id: loadId(load),
    replay: load as unknown as JsonObject,
    checkpoint: undefined,
    inserts: [],
    settings: {},
    marks: Object.fromEntries(
      load.objects.map(({ key, etag }) => [nameOf(load.location, key), { etag, failed: true }]),
    ),
    counts: { ...foundCounts(load), filesFailed: load.objects.length, errors },
  };
}

function foundCounts({ objects }: Load): Batch["counts"] {
  return { filesFound: objects.length, bytesFound: objects.reduce((sum, object) => sum + object.size, 0) };
}

function insertOf(load: Load, destination: DestinationTable, readParams: Insert["params"]): Insert {
  const columns = load.columns.map((column) => identifier(column.name)).join(", ");
  return {
    database: destination.database,
    table: destination.table,
    sql: `INSERT INTO ${tableName(destination.database, destination.table)} (${columns}) ${selectRows(load)}`,
    ...(readParams === undefined ? {} : { params: readParams }),
  };
}

/**
 * The rows of the objects. Throws in the engine when it meets another version of an object than the one listed: rows of
 * an unknown version must not be marked as those of a known one, nor must an object silently give none.
 */
export function selectRows(load: Load): string {
  const shape = readShape(load.format, load.columns);
  const paths = load.objects.map(({ key }) => literal(nameOf(load.location, key)));
  const versions = load.objects.map(({ key, etag }) => `(${literal(nameOf(load.location, key))}, ${literal(etag)})`);
  const bare = `replaceRegexpOne(replaceRegexpOne(_etag, '^W/', ''), '^"(.*)"$', '\\\\1')`;
  const guard = `throwIf((_path, ${bare}) NOT IN (${versions.join(", ")}), ${literal(replacedMark)}) = 0`;
  const source = reader(load, shape.format, shape.structure);
  return `SELECT ${shape.expressions.join(", ")} FROM ${source} WHERE _path IN (${paths.join(", ")}) AND ${guard}`;
}

/** The table function that reads the objects, with its secrets as parameters. */
export function reader(load: Load, format: string, structure: string): string {
  const { location, objects } = load;
  const shape = [format, structure].map(literal);
  if (location.kind === "azure") {
    const args = ["{connection_string:String}", literal(location.container), literal(pathOf(objects, (name) => name))];
    return `azureBlobStorage(${[...args, literal(format), literal(load.compression), literal(structure)].join(", ")})`;
  }
  const args = [
    literal(location.bucketUrl + pathOf(objects, urlPath)),
    ...signing[location.access],
    ...shape,
    literal(load.compression),
  ];
  return `s3(${args.join(", ")})`;
}

const key = ["{access_key_id:String}", "{secret_key:String}"];
const session = [...key, "{session_token:String}"];
/** Machine keys may or may not come with a session token; an empty one is none. */
const signing: Record<Access, readonly string[]> = { public: ["NOSIGN"], key, role: session, machine: session };

/**
 * The engine takes `{}`, `*` and `?` in the path for wildcards and has no escape for them. Braces become `?`, and the
 * condition on `_path` picks exactly the object meant.
 */
function pathOf(objects: readonly StoredObject[], encode: (name: string) => string): string {
  const paths = objects.map((object) => encode(object.key.replaceAll(/[{}]/g, "?")));
  return paths.length === 1 ? (paths[0] ?? "") : `{${paths.join(",")}}`;
}

function urlPath(name: string): string {
  return name
    .split("/")
    .map((segment) => encodeURIComponent(segment))
    .join("/");
}
