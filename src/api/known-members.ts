/** Objects of requests whose unknown members are refused by name. */
import { z } from "zod";
import { nearMatches } from "../lib/near-matches.ts";

/** Reports every member of the object that is not in the shape, with the nearest known name if there is one. */
export function refuseUnknown(body: object, shape: object, context: z.RefinementCtx): void {
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
