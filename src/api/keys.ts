/**
 * API keys (management API, Basic) and access tokens (observability API, Bearer). Secrets are shown once, at creation.
 */
import { z } from "zod";
import { ipAccess } from "./ip-access.ts";
import { operations, shownName, timestamp, uuid, version } from "./operation.ts";

export const keyRoles = ["admin", "developer", "read_only", "push"] as const;
export type KeyRole = (typeof keyRoles)[number];

const pipeId = uuid.describe("The pipe to which a key with the role push sends rows; it may do nothing else");
const pushLimits = z
  .strictObject({
    rowsPerSecond: z.int().min(1).max(100_000_000).optional(),
    bytesPerSecond: z.int().min(1).max(100_000_000_000).optional(),
  })
  .describe("Limits the role push: more is answered with 429 and Retry-After. Replaces the limits; default: none");
export type PushLimits = z.output<typeof pushLimits>;

const credentialState = z.enum(["enabled", "disabled"]);
const role = z.array(z.enum(keyRoles)).length(1, { error: "must name exactly one role" });
const expireAt = timestamp.nullable().describe("Expiry time of the credential; null means never");

export const keyRecord = z
  .object({
    id: uuid,
    name: z.string(),
    state: credentialState,
    roles: role,
    ipAccessList: z
      .array(z.object({ source: z.string(), description: z.string() }))
      .describe("Addresses and ranges from which the key is accepted"),
    keySuffix: z.string().describe("The last four characters of the key id"),
    version,
    createdAt: timestamp,
    expireAt: expireAt.optional(),
    usedAt: timestamp.optional().describe("Last use, to the minute; absent if never used"),
    pipeId: pipeId.optional(),
    pushLimits: pushLimits.optional(),
  })
  .meta({ id: "ApiKey" });

export const tokenRecord = z
  .object({
    id: uuid,
    name: z.string(),
    state: credentialState,
    tokenSuffix: z.string(),
    version,
    createdAt: timestamp,
    expireAt: expireAt.optional(),
    usedAt: timestamp.optional(),
  })
  .meta({ id: "AccessToken" });

const ipAccessList = z
  .array(ipAccess)
  .max(200)
  .describe("Replaces the list; an empty list admits no address. Default: anywhere");
const shared = { tag: "Keys", access: "admin" } as const;

export const keyOperations = operations(shared, {
  listKeys: {
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/keys",
    summary: "Lists API keys",
    result: z.array(keyRecord),
  },
  createKey: {
    method: "POST",
    path: "/v1/organizations/{organizationId}/keys",
    summary: "Creates an API key; only this response contains its secret",
    body: z.strictObject({
      name: shownName(100),
      roles: role,
      state: credentialState.optional(),
      expireAt: expireAt.optional(),
      ipAccessList: ipAccessList.optional(),
      pipeId: pipeId.optional(),
      pushLimits: pushLimits.optional(),
    }),
    result: z.object({ key: keyRecord, keyId: z.string(), keySecret: z.string() }),
  },
  getKey: {
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/keys/{keyId}",
    summary: "Gets an API key",
    result: keyRecord,
  },
  updateKey: {
    method: "PATCH",
    versioned: true,
    path: "/v1/organizations/{organizationId}/keys/{keyId}",
    summary: "Changes the name, state, role, expiry or access list of an API key",
    body: z.strictObject({
      name: shownName(100).optional(),
      roles: role.optional(),
      state: credentialState.optional(),
      expireAt: expireAt.optional(),
      ipAccessList: ipAccessList.optional(),
      pushLimits: pushLimits.optional(),
    }),
    result: keyRecord,
  },
  deleteKey: {
    method: "DELETE",
    versioned: true,
    path: "/v1/organizations/{organizationId}/keys/{keyId}",
    summary: "Deletes an API key, except the one that authenticates the request",
  },
  listAccessTokens: {
    method: "GET",
    storedOnly: true,
    path: "/v1/organizations/{organizationId}/accessTokens",
    summary: "Lists the access tokens of the observability API",
    result: z.array(tokenRecord),
  },
  createAccessToken: {
    method: "POST",
    path: "/v1/organizations/{organizationId}/accessTokens",
    summary: "Creates an access token for the observability API; only this response contains the token",
    body: z.strictObject({ name: shownName(100), expireAt: expireAt.optional() }),
    result: z.object({ token: tokenRecord, accessToken: z.string() }),
  },
  updateAccessToken: {
    method: "PATCH",
    versioned: true,
    path: "/v1/organizations/{organizationId}/accessTokens/{tokenId}",
    summary: "Changes the name, state or expiry of an access token",
    body: z.strictObject({
      name: shownName(100).optional(),
      state: credentialState.optional(),
      expireAt: expireAt.optional(),
    }),
    result: tokenRecord,
  },
  deleteAccessToken: {
    method: "DELETE",
    versioned: true,
    path: "/v1/organizations/{organizationId}/accessTokens/{tokenId}",
    summary: "Deletes an access token",
  },
});
