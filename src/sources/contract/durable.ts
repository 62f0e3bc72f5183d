/**
 * What sources keep in the ledger of their pipes: replays, checkpoints and marks, which outlive the program that wrote
 * them. Each connector states the shapes in its `durable.ts`. The control plane reads and writes by them; a worker gets
 * values that were checked, and loads their types only.
 *
 * An object is written with the version of its shapes as the member `v`. Without it the data is of version 0, written
 * before versions were. A text, a number or a list has no place for a version: to change one, make it an object.
 *
 * To change a shape: raise `shapesVersion`, keep a schema of the former version, convert what was read by it, and add a
 * sample of the former data to the upgrade test.
 */
import * as z from "zod/mini";
import { AppError } from "../../lib/errors.ts";
import { isObject, type Json } from "../../lib/json.ts";

/** The version that is written. Version 0 has the same members. */
export const shapesVersion = 1;

/** A schema of JSON. One of a value that JSON has no form for is an error of the compiler. */
export type JsonShape = z.core.$ZodType<Json>;

/** Parsed values are never written to. */
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;

/** The type of what a shape reads and writes. */
export type Stored<S extends z.core.$ZodType> = Frozen<z.output<S>>;

/** The stored shapes of one kind of source. */
export type DurableShapes = {
  /** What a batch is built from again. */
  readonly replay: z.core.$ZodType<{ readonly [key: string]: Json }>;
  /** Position of a lane. */
  readonly checkpoint: JsonShape;
  /** By the beginning of the mark's key. None of them begins with another. */
  readonly marks: Readonly<Record<string, JsonShape>>;
};

/** The types of a kind's shapes, as `Source` and `SourceContext` take them. */
export type DurableOf<S extends DurableShapes> = {
  readonly replay: Stored<S["replay"]>;
  readonly checkpoint: Stored<S["checkpoint"]>;
  readonly marks: { readonly [P in keyof S["marks"] & string as `${P}${string}`]: Stored<S["marks"][P]> };
};

/** The value with its version, as it is stored. */
export function versioned(value: Json): Json {
  return isObject(value) ? { v: shapesVersion, ...value } : value;
}

/**
 * Checks stored data. `what` names it for the user. Throws STORED_STATE_UNREADABLE with the first member that is wrong,
 * also for data of a later version.
 */
export function readStored<S extends z.core.$ZodType>(shape: S, json: Json, what: string): z.output<S> {
  const version = isObject(json) ? (json.v ?? 0) : 0;
  if (version !== 0 && version !== shapesVersion) {
    throw unreadable(what, `it has version ${JSON.stringify(version)}, and this server reads up to ${shapesVersion}`);
  }
  const parsed = z.safeParse(shape, json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const member = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  throw unreadable(what, `${member}${issue?.message ?? "not readable"}`);
}

/** The shape of a mark. Throws for a key that the kind does not state. */
export function shapeOfMark(shapes: Pick<DurableShapes, "marks">, key: string): JsonShape {
  const [found] = Object.entries(shapes.marks).filter(([start]) => key.startsWith(start));
  if (found === undefined) throw new TypeError(`the mark ${key} has no shape in durable.ts`);
  return found[1];
}

function unreadable(what: string, why: string): AppError {
  return new AppError("STORED_STATE_UNREADABLE", `The stored ${what} cannot be read: ${why}.`);
}
