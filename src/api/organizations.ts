/**
 * Organizations: the owners of services, keys and tokens. An extension of the contract; one key sees one organization.
 */
import { z } from "zod";
import { operation, shownName, timestamp, uuid } from "./operation.ts";

export const organizationRecord = z
  .object({
    id: uuid,
    name: z.string(),
    createdAt: timestamp,
    awsExternalId: uuid.describe(
      "External id that this server sends when a pipe of the organization assumes an AWS role (`iamRole`); require it in the role's trust policy",
    ),
  })
  .meta({ id: "Organization" });

export const organizationOperations = {
  listOrganizations: operation({
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations",
    tag: "Organizations",
    summary: "Lists organizations: only the one that the key belongs to",
    access: "read",
    result: z.array(organizationRecord),
  }),
  getOrganization: operation({
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}",
    tag: "Organizations",
    summary: "Gets an organization",
    access: "read",
    result: organizationRecord,
  }),
  updateOrganization: operation({
    method: "PATCH",
    path: "/v1/organizations/{organizationId}",
    tag: "Organizations",
    summary: "Renames an organization",
    access: "admin",
    body: z.strictObject({ name: shownName(50) }),
    result: organizationRecord,
  }),
};
