/**
 * The definition of an HTTP operation: plain data. Server, validation, OpenAPI, typed client and command line all
 * derive from the tables in `operations.ts`. Nothing here does I/O.
 */
import { z } from "zod";
import { nearMatches } from "../lib/near-matches.ts";
import { numberText } from "../lib/number-text.ts";

/** Lowest role that may call the operation: `read` < `developer` < `admin`. */
export type AccessLevel = "read" | "developer" | "admin";

/** The name of the role with this access, as in `roles`. */
export function roleOf(access: AccessLevel): string {
  return access === "read" ? "read_only" : access;
}

export type Operation = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with `{name}` parameters; `params` has every name. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: AccessLevel;
  readonly params: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Absent: the response has no `result`. */
  readonly result?: z.ZodType;
  /** The response is not an envelope but bytes that the handler sends; described here. */
  readonly streams?: string;
  /** A body is read as JSON whatever its type is said to be, in requests with an `Authorization` header. */
  readonly anyContentType?: true;
  /**
   * The response of this GET depends on stored data, organization, role and parameters alone: it is cached until the
   * next write, and has an entity tag. Not for responses that depend on running processes, memory or the clock.
   */
  readonly storedOnly?: true;
  /**
   * The response of this GET depends on services, pipes and their sampled numbers alone: it is cached until one of them
   * changes, which batches of busy pipes do at most once per sample.
   */
  readonly sampled?: true;
  /** The result of this GET is a bare list: a page with `limit` names the next one in the header `Link` (RFC 8288). */
  readonly linked?: true;
  /** Changes an object with a version: it accepts `If-Match`, and answers 412 for another version. */
  readonly versioned?: true;
  /** This POST does not change any object of Millrace: it leaves no activity. Statements are in the query log. */
  readonly readsOnly?: true;
  /** Pages of other origins may send it, with a key; the handler refuses origins that are not allowed. */
  readonly crossOrigin?: true;
};

/** The input of a handler: the request as parsed by the schemas. */
export type Input<O extends Operation> = {
  readonly params: z.output<O["params"]>;
  readonly query: O["query"] extends z.ZodType ? z.output<O["query"]> : undefined;
  readonly body: O["body"] extends z.ZodType ? z.output<O["body"]> : undefined;
};

/** The arguments of the typed client. */
export type ClientInput<O extends Operation> = {
  readonly params: z.input<O["params"]>;
} & (O["versioned"] extends true
  ? { /** The version to change; another one is answered with 412. */ readonly ifMatch?: number }
  : unknown) &
  (O["query"] extends z.ZodType ? { readonly query?: z.input<O["query"]> } : unknown) &
  (O["body"] extends z.ZodType ? { readonly body: z.input<O["body"]> } : unknown);

/** What a handler returns. */
export type Result<O extends Operation> = O["result"] extends z.ZodType ? z.input<O["result"]> : undefined;

/** Stored ids are in lower case, and callers may write them in either. */
export const uuid = z.uuid({ error: "must be a uuid" }).toLowerCase();

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type IdsIn<Path extends string> = z.ZodObject<{ readonly [Name in NamesIn<Path>]: typeof uuid }>;

/** An operation as it is written down. Without `params`, each name in the path is a UUID. */
type Definition = Omit<Operation, "params"> & { readonly params?: z.ZodObject };
type Complete<D extends Definition> = D & {
  readonly params: D extends { readonly params: infer Given extends z.ZodObject } ? Given : IdsIn<D["path"]>;
};

/** Keeps literal types while checking the shape. */
export function operation<const D extends Definition>(value: D): Complete<D> {
  const names = value.path.matchAll(/\{(\w+)\}/g);
  const params = value.params ?? z.object(Object.fromEntries([...names].map(([, name]) => [name, uuid])));
  return { ...value, params } as Complete<D>;
}

/** Operations that have these members in common. */
export function operations<
  const Shared extends Partial<Definition>,
  const Table extends Readonly<Record<string, Omit<Definition, keyof Shared>>>,
>(shared: Shared, table: Table) {
  const all = Object.entries<object>(table).map(([name, own]) => [
    name,
    operation({ ...shared, ...own } as Definition),
  ]);
  return Object.fromEntries(all) as {
    readonly [Name in keyof Table]: Shared & Table[Name] extends infer D extends Definition ? Complete<D> : never;
  };
}

export const version = z.int().describe("Raised by every requested change; for `If-Match`");

/** Text without control characters (NUL, newlines ...), for names and identifiers. */
export function plainText(min: number, max: number) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((value) => !/[\u0000-\u001f\u007f]/.test(value), { error: "must not contain control characters" });
}

/** A name that people see. */
export function shownName(max: number) {
  return plainText(1, max).regex(/\S/, { error: "must not be blank" });
}

/** A change that says something. When a member is not known, only that is told. */
export function changing<S extends z.ZodType<object>>(schema: S): S {
  return schema.refine((body) => Object.keys(body).length > 0, {
    error: "must change at least one member",
    when: ({ issues }) => issues.length === 0,
  });
}

export const timestamp = z.iso.datetime({ offset: true }).describe("ISO 8601 UTC time");

/** Query parameters of a list that is read page by page. */
export const cursorQuery = {
  cursor: z
    .string()
    .max(1_024)
    .optional()
    .describe(
      "`nextCursor` of the page before, with the same filters and order; objects that are added meanwhile repeat and hide none",
    ),
  limit: numberText(z.int().min(1).max(1_000)).default(100).describe("Maximum number of objects on a page"),
};

/** Query parameters of a list whose result is a bare array. Without `limit` it is complete. */
export const linkedQuery = {
  cursor: z
    .string()
    .max(1_024)
    .optional()
    .describe("From the `Link` header of the page before, with the same filters and order"),
  limit: numberText(z.int().min(1).max(1_000))
    .optional()
    .describe('Maximum number of objects; the header `Link` with `rel="next"` then names the next page. Default: all'),
};

/** A query parameter with one or more of the values: repeated, or separated by commas. */
export function commaSeparated<const T extends readonly [string, ...string[]]>(values: T) {
  const split = (value: unknown) =>
    value === undefined ? undefined : [value].flat().flatMap((part) => String(part).split(","));
  return z.preprocess(split, z.array(z.enum(values)).max(50));
}

/** Removes members that are null, at every depth of plain objects: clients send null for "not set". */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item)) as T;
  if (value === null || typeof value !== "object") return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)])) as T;
}

/** Reports every member of the object that is not in the shape, with the nearest known name if there is one. */
function refuseUnknown(body: object, shape: object, context: z.RefinementCtx): void {
  for (const name of Object.keys(body)) {
    if (Object.hasOwn(shape, name)) continue;
    const [near] = nearMatches(name, Object.keys(shape));
    const message = `is not a known member${near === undefined ? "" : `; did you mean ${near}?`}`;
    context.addIssue({ code: "custom", path: [name], message });
  }
}

/** An object of a request. Every unknown member is an issue with its own path, and the nearest name. */
export function knownObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .looseObject(shape)
    .superRefine((body, context) => refuseUnknown(body, shape, context))
    .meta({ additionalProperties: false });
}

/** The same members, of which the optional ones may be null: the HyperDX API sends null for one that is not set. */
export function nullableToo<Shape extends z.ZodRawShape>(shape: Shape, except: readonly string[] = []): Shape {
  const members = Object.entries(shape).map(([name, schema]) => {
    const isOptional = schema instanceof z.ZodOptional && !except.includes(name);
    return [name, isOptional ? schema.nullable() : schema];
  });
  return Object.fromEntries(members) as Shape;
}

const ignored = z.unknown().optional().describe("Set by the server; a value that is sent has no effect");

/** Members that the server sets: a client that sends a record back sends them too. */
export const setByServer = { id: ignored, version: ignored, createdAt: ignored, updatedAt: ignored };
