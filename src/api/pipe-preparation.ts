/** What is known of a source and of a definition before a pipe is created. Nothing here creates anything. */
import { z } from "zod";
import { checkNames } from "../sources/contract/checks.ts";
import { operation } from "./operation.ts";
import { createPipeBody, schemasOfKinds, serviceParams, source, tableIdentifier } from "./pipes.ts";

const discoveryBody = z.strictObject({
  source: source.omit({ validateSamples: true }),
  destination: z
    .strictObject({ database: tableIdentifier.nullish(), table: tableIdentifier.nullish() })
    .nullish()
    .describe("Names in the proposed statement, default `default`.`new_table`"),
});

const sampleRow = z
  .object({
    raw: z
      .string()
      .optional()
      .describe("The first 4096 bytes as they arrive, binary ones as `hex:` and digits; absent for columnar formats"),
    parsed: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("The row by the fields' types; 64-bit integers are strings"),
    problem: z.string().optional().describe("Why the sample cannot be read"),
  })
  .meta({ id: "SampleRow" });

const proposedTable = z
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
    fields: z.array(
      z.object({
        name: z.string(),
        type: z.string().describe("Type that the engine infers from the samples"),
        optional: z.boolean().describe("Whether the inferred type allows NULL"),
      }),
    ),
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

const listedColumn = z.object({
  name: z.string(),
  type: z.string().describe("As the source prints it"),
  nullable: z.boolean(),
  destinationType: z.string().describe("Type of the destination column with `allowNullableColumns: true`"),
});

const listedTable = z
  .object({
    schema: z.string(),
    name: z.string(),
    estimatedRows: z.number().optional().describe("As of the last ANALYZE or VACUUM; absent before the first one"),
    bytes: z
      .number()
      .optional()
      .describe("With TOAST and all partitions, without indexes; absent while a table of the page is locked"),
    isPartitioned: z.boolean(),
    isReadable: z.boolean().describe("The user may read the table"),
    primaryKey: z.array(z.string()),
    replicaIdentity: z.enum(["default", "nothing", "full", "index"]),
    publications: z.array(z.string()).describe("Names of the publications that contain the table"),
    columns: z.array(listedColumn),
  })
  .meta({ id: "ListedTable" });

const sourceListing = z
  .object({
    topics: z
      .array(
        z.object({
          name: z.string(),
          partitions: z.int(),
          messages: z
            .number()
            .optional()
            .describe("Offsets between first and last message; absent while a partition has no leader"),
        }),
      )
      .optional(),
    streams: z
      .array(
        z.object({
          name: z.string(),
          openShards: z.int().optional().describe("Absent when the service does not tell it in time"),
        }),
      )
      .optional(),
    prefixes: z
      .array(
        z.object({
          prefix: z.string(),
          objects: z.int().optional().describe("Objects below the prefix, at most 1000; absent if time was short"),
          bytes: z.number().optional().describe("Size of the counted objects"),
          hasMore: z.boolean().optional().describe("True: there are more objects than were counted"),
        }),
      )
      .optional(),
    objects: z.array(z.object({ key: z.string(), bytes: z.number() })).optional(),
    schemas: z
      .array(z.object({ name: z.string(), tables: z.int() }))
      .optional()
      .describe("All schemas with tables; on the first page"),
    tables: z.array(listedTable).optional(),
    nextCursor: z.string().optional().describe("For the next page; absent on the last one"),
  })
  .meta({ id: "SourceListing" });

const root = "/v1/organizations/{organizationId}/services/{serviceId}/pipes";
const tag = { tag: "Pipes" } as const;

const issue = z.object({ path: z.string(), message: z.string(), position: z.int().optional() });

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

export const pipePreparationOperations = {
  validatePipe: operation({
    ...tag,
    method: "POST",
    path: `${root}/validate`,
    readsOnly: true,
    summary: "Makes every check of createPipe with the same body and reports each one; creates nothing",
    access: "developer",
    params: serviceParams,
    body: createPipeBody,
    result: validation,
  }),
  listSource: operation({
    ...tag,
    method: "POST",
    path: `${root}/sourceListing`,
    readsOnly: true,
    summary:
      "Lists what a source has: topics, streams, prefixes and objects, or schemas and tables. Needs no running service",
    access: "developer",
    params: serviceParams,
    body: listingBody,
    result: sourceListing,
  }),
  discoverSchema: operation({
    ...tag,
    method: "POST",
    path: `${root}/schemaDiscovery`,
    readsOnly: true,
    summary:
      "Reads samples of a source and returns them, their fields and types, and a proposed table; does not create a pipe",
    access: "developer",
    params: serviceParams,
    body: discoveryBody,
    result: discoveredFields,
  }),
};
