/**
 * The stored definition of a pipe: JSON in columns, which the database migrations version. It is checked before a
 * worker receives it, so that a definition of another version fails the pipe with a reason.
 */
import * as z from "zod/mini";
import { AppError } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { readStored } from "../../../sources/contract/durable.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";

type Stored = Pick<Pipe, "sourceKind" | "destination" | "fieldMappings" | "scaling" | "settings">;

/** What to set again in a pipe whose secrets this installation cannot open. */
export function sealedOtherwise(sourceKind: string): string {
  const members = kindOf(sourceKind).secrets.map((name) => `\`${name}\``);
  return `the pipe's secrets were sealed with another key: set ${members.join(" or ")} again, as with \`millrace apply -f FILE --update-secrets\``;
}

const text = z.string();

export const definitionShapes = {
  destination: z.object({
    database: z.optional(text),
    table: z.optional(text),
    managedTable: z.optional(z.boolean()),
    tableDefinition: z.optional(
      z.object({
        engine: z.optional(
          z.object({
            type: z.optional(text),
            versionColumnId: z.optional(text),
            columnIds: z.optional(z.array(text)),
          }),
        ),
        sortingKey: z.optional(z.array(text)),
        partitionBy: z.optional(text),
        primaryKey: z.optional(text),
      }),
    ),
    columns: z.optional(z.array(z.object({ name: text, type: text }))),
  }),
  fieldMappings: z.array(z.object({ sourceField: text, destinationField: text })),
  scaling: z.record(text, z.number()),
  settings: z.record(text, z.union([z.number(), z.boolean()])),
} satisfies { readonly [P in keyof Pipe]?: z.core.$ZodType<Pipe[P]> };

/** What this version cannot read in a definition, as a sentence for the user; undefined when it is valid. */
export function problemOf(pipe: Stored, config: JsonObject): string | undefined {
  try {
    requireReadable(pipe, config);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

function requireReadable(pipe: Stored, config: JsonObject): void {
  const { destination, fieldMappings, scaling, settings } = definitionShapes;
  readStored(destination, pipe.destination, "destination of the pipe");
  readStored(fieldMappings, pipe.fieldMappings, "fieldMappings of the pipe");
  readStored(scaling, pipe.scaling, "scaling of the pipe");
  readStored(settings, pipe.settings, "settings of the pipe");
  readStored(kindOf(pipe.sourceKind).request, config, "source of the pipe");
}
