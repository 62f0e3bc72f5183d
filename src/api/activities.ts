/**
 * Activities: who did what, and what became of services, pipes, backups and restores. The members are those of the
 * ClickHouse Cloud API where it has them.
 */
import { z } from "zod";
import { cursorQuery, type Operation, operations, timestamp, uuid } from "./operation.ts";

export const activityRecord = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    type: z
      .string()
      .describe(
        "A request has object and verb (`pipe_create`, `service_stop`, `pipe_settings_update`), a state object and state (`service_idle`, `pipe_degraded`, `backup_done`)",
      ),
    actorType: z.enum(["api", "system"]).describe("`api`: a request with a key or token; `system`: Millrace itself"),
    actorId: uuid.optional().describe("Id of the key or token"),
    actorDetails: z.string().optional().describe("Name of the key or token at that time"),
    actorIpAddress: z.string().optional(),
    userAgent: z.string().optional(),
    requestId: uuid.optional(),
    organizationId: uuid,
    serviceId: uuid.optional().describe("The service, or the service that the object belongs to"),
    objectType: z.string().describe("`service`, `pipe`, `backup`, `restore`, `key`, `source` ..."),
    objectId: z.string(),
    objectName: z.string().optional().describe("Name of the object at that time"),
    reason: z.string().optional().describe("Reason of a state"),
    fields: z.array(z.string()).optional().describe("Members that the request set; their values are not recorded"),
  })
  .meta({ id: "Activity" });

const path = "/v1/organizations/{organizationId}/activities";
const shared = { method: "GET", storedOnly: true, tag: "Organizations", access: "read" } as const;

export const activityOperations = operations(shared, {
  listActivities: {
    path,
    summary:
      "Lists requests that changed something, and changes of states, newest first; logins and refusals are in the audit events",
    query: z.object({
      ...cursorQuery,
      object: z
        .string()
        .max(100)
        .optional()
        .describe("Only activities of the object with this id; of a service also those of its pipes and backups"),
      actor: z.string().max(100).optional().describe("Only activities of this key or token (its id), or of `system`"),
      type: z
        .string()
        .regex(/^[a-z_]{1,64}(,[a-z_]{1,64}){0,49}$/, { error: "must be types, separated by commas" })
        .optional()
        .describe("Only activities of these types, separated by commas"),
      from: timestamp.optional().describe("Only activities at this time or later"),
      to: timestamp.optional().describe("Only activities before this time"),
    }),
    result: z.object({
      activities: z.array(activityRecord),
      nextCursor: z.string().optional().describe("Names older activities; absent when there are none"),
    }),
  },
  getActivity: {
    path: `${path}/{activityId}`,
    summary: "Gets an activity",
    params: z.object({
      organizationId: uuid,
      activityId: z.string().regex(/^\d{1,15}$/, { error: "must be the id of an activity" }),
    }),
    result: activityRecord,
  },
});

/** Types that differ from object and verb: the names of the ClickHouse Cloud API. */
const cloudTypes: Readonly<Record<string, string>> = {
  updateKey: "openapi_key_update",
  updateServiceScaling: "service_update_autoscaling",
  updateServicePassword: "service_update_password",
  restoreBackup: "service_restore_backup",
};

const serviceCommands: Readonly<Record<string, string>> = {
  start: "service_start",
  stop: "service_stop",
  awake: "service_awaken",
};

/** The type of the activity that a request leaves: `updatePipeSettings` is `pipe_settings_update`. */
export function activityTypeOf(operationId: string, body: unknown): string {
  const command = (body as { command?: unknown } | undefined)?.command;
  if (typeof command === "string" && operationId === "updateServiceState")
    return serviceCommands[command] ?? "service_update";
  if (typeof command === "string" && operationId === "updatePipeState") return `pipe_${command}`;
  const [verb = "", ...object] = operationId.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
  return cloudTypes[operationId] ?? [...object, verb].join("_");
}

/** Every request that is not a GET leaves one, unless the operation only reads. */
export function leavesActivity({ method, readsOnly }: Operation): boolean {
  return method !== "GET" && readsOnly !== true;
}
