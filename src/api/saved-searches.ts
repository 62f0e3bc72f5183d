/** Saved searches (observability API), in the form of the HyperDX API. */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { knownObject, operation, plainText, setByServer, timestamp, uuid, version } from "./operation.ts";

/** Query parameters of lists of the observability API. */
export const offsetQuery = {
  limit: numberText(z.int().min(1).max(1000)).default(1000).describe("Maximum number of objects"),
  offset: numberText(z.int().min(0)).default(0).describe("Objects to leave out at the beginning"),
};

/** Members next to the `data` of such a list. */
export const offsetMeta = z
  .object({ total: z.int().min(0).describe("Number of all objects"), limit: z.int(), offset: z.int() })
  .meta({ id: "PaginationMeta" });

export const sourceId = plainText(1, 100).describe("Id of a chart source");
export const whereLanguage = z.enum(["lucene", "sql"]);
export const tags = z.array(z.string().max(32)).max(50);
const text = z.string().max(10_000);

/** A filter beside `where`. */
const filter = z.discriminatedUnion("type", [
  knownObject({ type: z.enum(["sql", "lucene"]), condition: text }),
  knownObject({
    type: z.literal("sql_ast"),
    operator: z.enum(["=", "<", ">", ">=", "<=", "!=", "IN", "NOT IN"]),
    left: text,
    right: text,
  }),
]);

const members = {
  name: plainText(1, 1024).trim().min(1),
  sourceId,
  select: text.default("").describe("As in a search; empty: the default of the source"),
  where: text.default("").describe("As in a search; empty selects all rows"),
  whereLanguage: whereLanguage.default("lucene"),
  orderBy: text.optional().describe("As in a search, with ASC or DESC"),
  tags: tags.default([]),
  filters: z.array(filter).max(100).optional().describe("Filters that a row must fulfil beside where"),
};

export const savedSearchBody = knownObject({ ...members, ...setByServer }).meta({ id: "SavedSearchRequest" });

const record = z
  .looseObject({ id: uuid, ...members, version, createdAt: timestamp, updatedAt: timestamp })
  .meta({ id: "SavedSearch" });

export type SavedSearchBody = z.output<typeof savedSearchBody>;
export type SavedSearchRecord = z.output<typeof record>;

const root = "/api/v2/saved-searches";
const one = { path: `${root}/{savedSearchId}`, params: z.object({ savedSearchId: plainText(1, 100) }) };
const tag = "Saved searches";
const data = z.object({ data: record });

export const savedSearchOperations = {
  listSavedSearches: operation({
    ...{ method: "GET", storedOnly: true, path: root, tag, access: "read" },
    summary: "Lists saved searches, oldest first",
    query: z.object(offsetQuery),
    result: z.object({ data: z.array(record), meta: offsetMeta }),
  }),
  createSavedSearch: operation({
    ...{ method: "POST", path: root, tag, access: "developer" },
    summary: "Saves a search",
    body: savedSearchBody,
    result: data,
  }),
  getSavedSearch: operation({
    ...{ method: "GET", storedOnly: true, ...one, tag, access: "read", summary: "Gets a saved search" },
    result: data,
  }),
  replaceSavedSearch: operation({
    ...{ method: "PUT", versioned: true, ...one, tag, access: "developer", summary: "Replaces a saved search" },
    body: savedSearchBody,
    result: data,
  }),
  deleteSavedSearch: operation({
    ...{ method: "DELETE", versioned: true, ...one, tag, access: "developer" },
    summary: "Deletes a saved search and its alerts",
    result: z.object({}),
  }),
};
