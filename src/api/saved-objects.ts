/** Queries, charts, dashboards and drafts that the console keeps. An extension of the contract. */
import { z } from "zod";
import { operations, shownName, timestamp, uuid } from "./operation.ts";

export const savedObjectKinds = ["query", "chart", "dashboard", "draft"] as const;

const maxContentBytes = 262_144;

const kind = z
  .enum(savedObjectKinds)
  .describe("A draft is visible to the key that created it alone, and is deleted with the key");
const name = shownName(200);
const content = z
  .record(z.string(), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxContentBytes, {
    error: `must be at most ${maxContentBytes} bytes of JSON`,
  })
  .describe("Any JSON object of at most 256 KiB; the server does not interpret it");
const version = z.int().min(1).describe("Begins at 1 and is raised by every change");

const summary = z
  .object({
    id: uuid,
    kind,
    name,
    version,
    createdBy: z.string().describe("Name of the key, at that time"),
    updatedBy: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "SavedObjectSummary" });

export const savedObjectRecord = summary
  .extend({ content: z.record(z.string(), z.unknown()) })
  .meta({ id: "SavedObject" });

const root = "/v1/organizations/{organizationId}/savedObjects";
const shared = { tag: "Saved objects" } as const;

export const savedObjectOperations = operations(shared, {
  listSavedObjects: {
    method: "GET",
    path: root,
    summary: "Lists saved queries, charts and dashboards, and the drafts of the calling key, by name; without contents",
    access: "read",
    query: z.object({ kind: kind.optional() }),
    result: z.array(summary),
  },
  createSavedObject: {
    method: "POST",
    path: root,
    summary: "Saves a query, chart, dashboard or draft",
    access: "developer",
    body: z.strictObject({ kind, name, content }),
    result: savedObjectRecord,
  },
  getSavedObject: {
    method: "GET",
    path: `${root}/{savedObjectId}`,
    summary: "Gets a saved object with its content",
    access: "read",
    result: savedObjectRecord,
  },
  updateSavedObject: {
    method: "PATCH",
    path: `${root}/{savedObjectId}`,
    summary: "Changes name or content; 409 if somebody else has changed it since `version`",
    access: "developer",
    body: z.strictObject({
      version: version.describe("The version that the change is based on"),
      name: name.optional(),
      content: content.optional(),
    }),
    result: savedObjectRecord,
  },
  deleteSavedObject: {
    method: "DELETE",
    path: `${root}/{savedObjectId}`,
    summary: "Deletes a saved object",
    access: "developer",
  },
});
