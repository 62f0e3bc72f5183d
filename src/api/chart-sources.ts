/**
 * Sources of charts (observability API): which table a series reads and how. The terms are those of the HyperDX API.
 */
import { z } from "zod";
import { keptMembersOf, readMembersOf, rollupOf } from "./chart-source-members.ts";
import { knownObject, nullableToo, operations, setByServer, timestamp, uuid, version } from "./operation.ts";

const rollup = rollupOf(knownObject).meta({ id: "Rollup" });

export const sourceBody = knownObject({
  ...nullableToo({ ...readMembersOf(knownObject, rollup), ...keptMembersOf(knownObject) }, ["serviceId", "connection"]),
  ...setByServer,
})
  .superRefine((body, context) => {
    const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if (body.serviceId === undefined && body.connection === undefined) fail("serviceId", "is required");
    if (body.serviceId !== undefined && body.connection !== undefined && body.serviceId !== body.connection) {
      fail("connection", "must be equal to serviceId");
    }
    if (body.kind === "metric") {
      if (body.metricTables == null) fail("metricTables", "is required for metric sources");
    } else {
      if (body.from.tableName === "") fail("from.tableName", "is required");
      if (body.timestampValueExpression == null) fail("timestampValueExpression", "is required");
    }
    if (body.kind === "session" && body.traceSourceId == null) {
      fail("traceSourceId", "is required for session sources");
    }
  })
  .meta({ id: "SourceRequest" });

/** As stored: earlier versions kept members of every name and type. */
export const storedSource = z.looseObject(readMembersOf(z.looseObject, rollupOf(z.looseObject)));

export const sourceRecord = storedSource
  .extend({
    id: uuid,
    serviceId: uuid,
    connection: uuid,
    ...keptMembersOf(z.looseObject),
    version,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Source" });

export type SourceBody = z.output<typeof sourceBody>;
export type SourceRecord = z.output<typeof sourceRecord>;
export type Rollup = z.output<typeof rollup>;

const source = z.object({ id: z.string().min(1).max(100) });
const shared = { tag: "Sources" } as const;

export const chartSourceOperations = operations(shared, {
  listSources: {
    method: "GET",
    storedOnly: true,
    path: "/api/v2/sources",
    summary: "Lists chart sources",
    access: "read",
    result: z.object({ data: z.array(sourceRecord) }),
  },
  createSource: {
    method: "POST",
    path: "/api/v2/sources",
    summary: "Creates a chart source",
    access: "developer",
    body: sourceBody,
    result: z.object({ data: sourceRecord }),
  },
  getSource: {
    method: "GET",
    storedOnly: true,
    path: "/api/v2/sources/{id}",
    summary: "Gets a chart source",
    access: "read",
    params: source,
    result: z.object({ data: sourceRecord }),
  },
  replaceSource: {
    method: "PUT",
    versioned: true,
    path: "/api/v2/sources/{id}",
    summary: "Replaces a chart source",
    access: "developer",
    params: source,
    body: sourceBody,
    result: z.object({ data: sourceRecord }),
  },
  deleteSource: {
    method: "DELETE",
    versioned: true,
    path: "/api/v2/sources/{id}",
    summary: "Deletes a chart source",
    access: "developer",
    params: source,
    result: z.object({}),
  },
});
