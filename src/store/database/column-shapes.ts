/**
 * Shapes of the JSON in columns of the metadata database, beside the definitions and the ledger of pipes. An object is
 * written with `versioned`. The rules of `src/sources/contract/durable.ts` for changing a shape apply here too.
 */
import * as z from "zod/mini";
import { queryEndpointRoles } from "../../api/query-endpoints.ts";
import { AppError } from "../../lib/errors.ts";
import type { Json } from "../../lib/json.ts";
import { readStored, versioned } from "../../sources/contract/durable.ts";

const text = z.string();

const namePattern = z.object({ name: text, prefix: z.exactOptional(z.boolean()) });

export const columnShapes = {
  serviceConnection: z.object({
    urls: z.array(text),
    username: text,
    cluster: z.optional(text),
    database: z.optional(text),
    tls: z.optional(z.object({ caCertificate: z.optional(text) })),
  }),
  managedConnection: z.object({ urls: z.array(text), username: text, cluster: z.optional(text), operator: text }),
  accessList: z.array(z.object({ source: text, description: text })),
  tags: z.array(z.object({ key: text, value: z.optional(text) })),
  resyncTables: z.array(text),
  resyncObjects: z.array(z.union([z.object({ key: text }), z.object({ prefix: text })])),
  errorSelection: z.object({
    group: z.exactOptional(text),
    from: z.exactOptional(text),
    to: z.exactOptional(text),
    origin: z.exactOptional(text),
    rowIds: z.exactOptional(z.array(text)),
  }),
  accessRights: z.object({
    grants: z.array(
      z.object({
        privilege: text,
        columns: z.exactOptional(z.array(text)),
        database: z.exactOptional(namePattern),
        table: z.exactOptional(namePattern),
        object: z.exactOptional(text),
        revoked: z.exactOptional(z.boolean()),
      }),
    ),
    roles: z.array(text),
  }),
  queryEndpointRoles: z.array(z.enum(queryEndpointRoles)),
  queryEndpointKeys: z.array(text),
  /** By the paths of the ClickHouse Cloud API, which the store does not know. `v` is the version. */
  cloudMembers: z.catchall(z.object({ v: z.optional(z.number()) }), z.union([text, z.boolean()])),
};

/** Reads a column. `what` names it for the user. Throws STORED_STATE_UNREADABLE with the first member that is wrong. */
export function readJson<S extends z.core.$ZodType>(shape: S, json: string, what: string): z.output<S> {
  return readStored(shape, parsed(json, what), what);
}

/** The error of the parser would quote the text. */
function parsed(json: string, what: string): Json {
  try {
    return JSON.parse(json) as Json;
  } catch {
    throw new AppError("STORED_STATE_UNREADABLE", `The stored ${what} cannot be read: it is not JSON.`);
  }
}

/** The values, of which the object `name` is given its version if it is there. */
export function withVersion<Name extends string>(
  values: { readonly [N in Name]?: Json | undefined },
  name: Name,
): object {
  const value = values[name];
  return value === undefined ? values : { ...values, [name]: versioned(value) };
}
