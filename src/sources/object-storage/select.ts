/**
 * The statement that loads objects: the engine reads and parses them itself, `INSERT ... SELECT ... FROM s3(...)`. Names,
 * keys and types reach the text only through quoting; credentials travel as bound parameters.
 */
import { identifier, literal, tableName } from "../../clickhouse/sql.ts";
import type { DestinationTable, Insert } from "../source.ts";
import type { ObjectFormat } from "./format.ts";
import type { ObjectStorageConfig } from "./kind.ts";
import type { Location } from "./location.ts";

export type StoredObject = { readonly key: string; readonly etag: string; readonly size: number };

const virtualColumns = new Set(["_path", "_file", "_size", "_time", "_etag"]);

/** Keys that may stand in a `{a,b}` list, where these characters have a meaning of their own. */
export function isPlainKey(key: string): boolean {
  return !/[{},*?\\]/.test(key);
}

export function loadStatement(options: {
  readonly config: ObjectStorageConfig;
  readonly location: Location;
  readonly format: ObjectFormat;
  readonly destination: DestinationTable;
  /** One object, or several with plain keys. */
  readonly objects: readonly StoredObject[];
}): Insert {
  const { destination } = options;
  const columns = destination.columns.map((column) => identifier(column.name)).join(", ");
  return {
    database: destination.database,
    table: destination.table,
    sql: `INSERT INTO ${tableName(destination.database, destination.table)} (${columns}) ${selectObjects(options)}`,
    params: credentials(options.config),
  };
}

/** The SELECT alone: also used to look at samples. */
export function selectObjects(options: {
  readonly config: ObjectStorageConfig;
  readonly location: Location;
  readonly format: ObjectFormat;
  readonly destination: DestinationTable;
  readonly objects: readonly StoredObject[];
}): string {
  const { config, location, format, destination, objects } = options;
  const shape = shapeOf(destination);
  const signing = config.accessKey === undefined ? "NOSIGN" : "{access_key_id:String}, {secret_key:String}";
  const args = [
    literal(urlOf(location, objects)),
    signing,
    literal(format),
    literal(shape.structure),
    literal(config.compression ?? "auto"),
  ];
  // Which version of which object: an object that is replaced while it is read gives no rows, and is found again later.
  const versions = objects.map(({ key, etag }) => `(${literal(`${location.bucket}/${key}`)}, ${literal(etag)})`);
  return `SELECT ${shape.expressions.join(", ")} FROM s3(${args.join(", ")}) WHERE (_path, _etag) IN (${versions.join(", ")})`;
}

export function credentials(config: ObjectStorageConfig): Record<string, string> {
  const { accessKey } = config;
  if (accessKey === undefined) return {};
  return { access_key_id: escapeParameter(accessKey.accessKeyId), secret_key: escapeParameter(accessKey.secretKey) };
}

/** Parameters travel in the engine's escaped text form. */
function escapeParameter(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n");
}

/**
 * The engine takes `{}`, `*` and `?` in the path for wildcards and has no escape for them. Braces become `?`, and the
 * condition on `_path` picks exactly the object meant.
 */
function urlOf(location: Location, objects: readonly StoredObject[]): string {
  const encode = (key: string) =>
    key
      .replaceAll(/[{}]/g, "?")
      .split("/")
      .map((segment) => encodeURIComponent(segment))
      .join("/");
  const [first] = objects;
  if (objects.length === 1) return location.bucketUrl + encode(first?.key ?? "");
  return `${location.bucketUrl}{${objects.map((object) => encode(object.key)).join(",")}}`;
}

type Shape = { readonly structure: string; readonly expressions: readonly string[] };
type Members = Map<string, string | Members>;

/** Declares every source field with the type of its column, nested ones as named tuples, and selects them by path. */
function shapeOf(destination: DestinationTable): Shape {
  const fields: Members = new Map();
  const expressions = destination.columns.map((column) => {
    if (virtualColumns.has(column.sourceField)) return `CAST(${column.sourceField} AS ${column.type})`;
    const path = column.sourceField.split(".");
    declare(fields, path, column.type);
    return `CAST(${path.map(identifier).join(".")} AS ${column.type})`;
  });
  return { structure: structureText(fields), expressions };
}

function declare(fields: Members, path: readonly string[], type: string): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    if (!fields.has(name)) fields.set(name, type);
    return;
  }
  let members = fields.get(name);
  if (members === undefined || typeof members === "string") {
    members = new Map();
    fields.set(name, members);
  }
  declare(members, rest, type);
}

function structureText(fields: Members): string {
  return [...fields]
    .map(([name, type]) => `${identifier(name)} ${typeof type === "string" ? type : `Tuple(${structureText(type)})`}`)
    .join(", ");
}
