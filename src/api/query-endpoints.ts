/** The query endpoint of a service: statements by chosen keys, with the members of the ClickHouse Cloud API. */
import { z } from "zod";
import { operation, plainText, uuid } from "./operation.ts";

export const queryEndpointRoles = ["sql_console_read_only", "sql_console_admin"] as const;
export type QueryEndpointRole = (typeof queryEndpointRoles)[number];

const members = {
  roles: z
    .array(z.enum(queryEndpointRoles))
    .min(1)
    .max(2)
    .describe("Statements only read without `sql_console_admin`; a key with the role read_only always only reads"),
  openApiKeys: z.array(uuid).max(200).describe("Ids of the keys that may run statements; no other key may"),
  allowedOrigins: z
    .string()
    .max(2_000)
    .refine((text) => originsOf(text).every((one) => one === "*" || isOrigin(one)), {
      error: "must be origins like https://app.example.com, separated by commas, or *",
    })
    .describe("Origins of pages that may run statements from a browser, separated by commas; `*`: any; empty: none"),
};

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** The origins of a list that is separated by commas. */
export function originsOf(list: string): string[] {
  return list
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

const queryEndpoint = z.object({ id: uuid, ...members }).meta({ id: "QueryEndpoint" });
const root = "/v1/organizations/{organizationId}/services/{serviceId}";
const shared = { tag: "Queries", path: `${root}/serviceQueryEndpoint` } as const;

export const queryEndpointOperations = {
  getQueryEndpoint: operation({
    ...shared,
    method: "GET",
    storedOnly: true,
    summary: "Gets the query endpoint of a service; 404 if none is configured",
    access: "read",
    result: queryEndpoint,
  }),
  setQueryEndpoint: operation({
    ...shared,
    method: "POST",
    summary: "Configures the query endpoint of a service, in place of what there is",
    access: "admin",
    body: z.strictObject({ ...members, allowedOrigins: members.allowedOrigins.default("") }),
    result: queryEndpoint,
  }),
  deleteQueryEndpoint: operation({
    ...shared,
    method: "DELETE",
    summary: "Removes the query endpoint of a service",
    access: "admin",
  }),
  runAtQueryEndpoint: operation({
    method: "POST",
    path: `${root}/run`,
    readsOnly: true,
    crossOrigin: true,
    tag: "Queries",
    summary: "Runs a statement at the query endpoint of a service as `runQuery` does, and streams its result",
    access: "read",
    query: z.object({
      format: z
        .string()
        .regex(/^[A-Za-z0-9]{1,64}$/, { error: "must be the name of a format" })
        .default("JSONEachRow")
        .describe("Format of the result, unless the statement has a FORMAT clause"),
    }),
    body: z.strictObject({
      runId: z
        .string()
        .regex(/^[A-Za-z0-9_.:-]{1,100}$/, { error: "must be 1 to 100 characters of A-Z, a-z, 0-9, _ . : -" })
        .optional()
        .describe("Id of the query, which no running query has; default: a new UUID"),
      sql: z.string().min(1).max(1_048_576).describe("One statement"),
      database: plainText(1, 200).optional().describe("Database of names without one; default: `default`"),
    }),
    streams: "The result in the requested format. The header `X-ClickHouse-Query-Id` has the id of the query",
  }),
};
