/** Backups: the record of the contract (A4). */
import { z } from "zod";
import { operation, timestamp, uuid } from "./operation.ts";

export const backupRecord = z.object({
  id: uuid,
  serviceId: z.string(),
  startedAt: timestamp,
  finishedAt: timestamp.optional(),
  sizeInBytes: z.int(),
  durationInSeconds: z.number(),
  backupName: z.string(),
  bucket: z.object({ bucketPath: z.string(), iamRoleArn: z.string(), iamRoleSessionName: z.string() }).optional(),
});

export const backupOperations = {
  listBackups: operation({
    method: "GET",
    path: "/v1/organizations/{organizationId}/services/{serviceId}/backups",
    tag: "Backups",
    summary: "Lists the backups of a service, newest first",
    access: "read",
    params: z.object({ organizationId: uuid, serviceId: uuid }),
    result: z.array(backupRecord),
  }),
};
