/** What is known of a source and of a definition before a pipe is created. Nothing here creates anything. */
import { z } from "zod";
import { checkNames } from "../sources/contract/checks.ts";
import { foundField, sampleRow } from "../sources/contract/discovery.ts";
import { sourceListing } from "../sources/contract/listing.ts";
import { operations } from "./operation.ts";
import { createPipeBody, databaseIdentifier, schemasOfKinds, source, tableIdentifier } from "./pipes.ts";

const discoveryBody = z.strictObject({
  source: source.omit({ validateSamples: true }),
  destination: z
    .strictObject({ database: databaseIdentifier.nullish(), table: tableIdentifier.nullish() })
    .nullish()
    .describe("Names in the proposed statement, default `default`.`new_table`"),
});

export const proposedTable = z
  .object({
    columns: z.array(z.object({ name: z.string(), type: z.string() })),
    tableDefinition: z.object({
      engine: z.object({ type: z.enum(["MergeTree"]) }),
      sortingKey: z.array(z.string()),
    }),
    sortingKeyReason: z.string(),
    createTable: z.string().describe("The statement that a pipe with this destination runs"),
  })
  .describe("A destination for a pipe; `columns` and `tableDefinition` can be sent to createPipe")
  .meta({ id: "ProposedTable" });

const discoveredFields = z
  .object({
    fields: z.array(foundField),
    samples: z.array(sampleRow).describe("Up to 20 samples"),
    proposedTable,
  })
  .meta({ id: "DiscoveredFields" });

const listingBody = z.strictObject({
  source: z
    .strictObject(
      schemasOfKinds<"part">("Connection", ({ request, listing }) =>
        // What the listing returns may be left out.
        (request as z.ZodObject<Record<string, z.ZodType>>).partial({ [listing.member]: true } as Record<string, true>),
      ),
    )
    .describe("What is known of the source: the connection, without topics, streams or tables"),
  within: z
    .string()
    .max(1_024)
    .nullish()
    .describe(
      "Where to look: a prefix of object keys that ends in `/` (default: the folder of the url), or a schema of a " +
        "database (default: all)",
    ),
  cursor: z.string().max(4_096).nullish().describe("`nextCursor` of the page before, of the same listing"),
  limit: z.int().min(1).max(1_000).nullish().describe("Maximum number of objects on a page, default 100"),
});

const root = "/v1/organizations/{organizationId}/services/{serviceId}/pipes";
const tag = { tag: "Pipes" } as const;

const issue = z.object({
  path: z.string(),
  message: z.string(),
  position: z.int().optional(),
  statement: z.string().optional(),
});

const validation = z
  .object({
    ok: z.boolean().describe("Every check is ok: a pipe could be created now"),
    checks: z
      .array(
        z.object({
          name: z.enum(checkNames),
          ok: z.boolean(),
          issues: z
            .array(issue)
            .optional()
            .describe("Each with the member of the request it belongs to, if there is one"),
          remedy: z.string().optional(),
          ms: z
            .number()
            .describe("Time taken. A source is reached by one exchange, whose time is that of `connection`"),
        }),
      )
      .describe("In the order in which create makes them. A check that depends on a failed one is absent"),
    warnings: z.array(issue).optional().describe("As create returns them, when every check of the source is ok"),
    createTable: z
      .string()
      .optional()
      .describe("The statement that creates a managed table, in the form of the service's server or cluster"),
  })
  .meta({ id: "PipeValidation" });

export const pipePreparationOperations = operations(tag, {
  validatePipe: {
    method: "POST",
    path: `${root}/validate`,
    readsOnly: true,
    summary: "Makes every check of createPipe with the same body and reports each one; creates nothing",
    access: "developer",
    body: createPipeBody,
    result: validation,
  },
  listSource: {
    method: "POST",
    path: `${root}/sourceListing`,
    readsOnly: true,
    summary:
      "Lists what a source has: topics, streams, prefixes and objects, or schemas and tables. Needs no running service",
    access: "developer",
    body: listingBody,
    result: sourceListing,
  },
  discoverSchema: {
    method: "POST",
    path: `${root}/schemaDiscovery`,
    readsOnly: true,
    summary:
      "Reads samples of a source and returns them, their fields and types, and a proposed table; does not create a pipe",
    access: "developer",
    body: discoveryBody,
    result: discoveredFields,
  },
});
