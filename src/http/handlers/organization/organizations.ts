/** Organizations, API keys, access tokens. */
import { anywhere, sourcesOf } from "../../../api/ip-access.ts";
import { type KeyRole, keyRecord, tokenRecord } from "../../../api/keys.ts";
import type { ManagementOperations } from "../../../api/operations.ts";
import { organizationRecord } from "../../../api/organizations.ts";
import { accessCheck } from "../../../endpoint/auth/access-list.ts";
import { AppError, badRequest, found } from "../../../lib/errors.ts";
import type { ApiKey } from "../../../store/access/credentials.ts";
import type { Organization } from "../../../store/access/organizations.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import type { Stores } from "../../../store/open.ts";
import { requirePushPipe } from "../../push/pipes.ts";
import { viewOf } from "../../views/view-of.ts";
import type { Management } from "../lookups.ts";

type Names = Extract<keyof ManagementOperations, `${string}${"Organization" | "Key" | "AccessToken"}${string}`>;

export type OrganizationDeps = Pick<Stores, "organizations" | "credentials" | "pipes" | "services"> & {
  readonly limits: OrganizationLimits;
};

export function organizationHandlers(deps: OrganizationDeps): Management<Names> {
  const { organizations, credentials } = deps;
  const organization = async (id: string) => organizationView(found(await organizations.find(id), "Organization", id));
  const key = async (organizationId: string, id: string) =>
    found(await credentials.findKey(organizationId, id), "Key", id);
  const token = async (organizationId: string, id: string) =>
    found(await credentials.findToken(organizationId, id), "Access token", id);
  return {
    listOrganizations: async (_input, context) => [await organization(context.organizationId)],
    getOrganization: ({ params }) => organization(params.organizationId),
    updateOrganization: async ({ params, body }) => {
      await organizations.rename(params.organizationId, body.name);
      return await organization(params.organizationId);
    },
    listKeys: async ({ params }) => (await credentials.listKeys(params.organizationId)).map(keyView),
    createKey: async ({ params, body }) => {
      const role = body.roles[0] as KeyRole;
      refusePast(body.expireAt);
      refuseWrongMembers(role, body);
      if (body.pipeId !== undefined) await requirePushPipe(deps, params.organizationId, body.pipeId);
      const made = await credentials.createKey({
        ...{ organizationId: params.organizationId, name: body.name, role, state: body.state ?? "enabled" },
        expireAt: utc(body.expireAt) ?? null,
        ...{ ipAccessList: body.ipAccessList, pipeId: body.pipeId, pushLimits: body.pushLimits },
        limit: deps.limits.keys,
      });
      return { key: keyView(made.key), keyId: made.key.keyId, keySecret: made.secret };
    },
    getKey: async ({ params }) => keyView(await key(params.organizationId, params.keyId)),
    updateKey: async ({ params, body }, context) => {
      const { id, role, pipeId } = await key(params.organizationId, params.keyId);
      refuseWrongMembers((body.roles?.[0] as KeyRole | undefined) ?? role, { ...body, pipeId });
      const weaker = body.roles !== undefined && body.roles[0] !== "admin";
      const over = typeof body.expireAt === "string" && Date.parse(body.expireAt) <= Date.now();
      const shut = body.ipAccessList !== undefined && !accessCheck(sourcesOf(body.ipAccessList))(context.address);
      if (id === context.credentialId && (body.state === "disabled" || weaker || over || shut)) {
        throw new AppError("CONFLICT", "A key cannot revoke its own access; use another key.");
      }
      const change = { ...body, role: body.roles?.[0], expireAt: utc(body.expireAt) };
      await credentials.changeKey(id, change, context.expected);
      return keyView(await key(params.organizationId, params.keyId));
    },
    deleteKey: async ({ params }, context) => {
      const { id } = await key(params.organizationId, params.keyId);
      if (id === context.credentialId) throw new AppError("CONFLICT", "A key cannot delete itself; use another key.");
      await credentials.deleteKey(id, context.expected);
      return undefined;
    },
    listAccessTokens: async ({ params }) => (await credentials.listTokens(params.organizationId)).map(tokenView),
    createAccessToken: async ({ params, body }) => {
      refusePast(body.expireAt);
      const made = await credentials.createToken({
        organizationId: params.organizationId,
        name: body.name,
        expireAt: utc(body.expireAt) ?? null,
        limit: deps.limits.keys,
      });
      return { token: tokenView(made.token), accessToken: made.secret };
    },
    updateAccessToken: async ({ params, body }, { expected }) => {
      const { id } = await token(params.organizationId, params.tokenId);
      await credentials.changeToken(id, { ...body, expireAt: utc(body.expireAt) }, expected);
      return tokenView(await token(params.organizationId, params.tokenId));
    },
    deleteAccessToken: async ({ params }, { expected }) => {
      const { id } = await token(params.organizationId, params.tokenId);
      await credentials.deleteToken(id, expected);
      return undefined;
    },
  };
}

/** Throws BAD_REQUEST: a key that pushes has one pipe, and other keys have none. */
function refuseWrongMembers(
  role: KeyRole,
  body: { readonly pipeId?: string | undefined; readonly pushLimits?: object | undefined },
): void {
  if (role === "push" && body.pipeId === undefined) throw badRequest("pipeId", "is required for the role push");
  if (role === "push") return;
  if (body.pipeId !== undefined) throw badRequest("roles", "must be push for a key of one pipe");
  if (body.pushLimits !== undefined) throw badRequest("pushLimits", "are only for the role push");
}

/** A credential that has expired before it exists is a mistake. An existing one may be ended by a time that is past. */
function refusePast(expireAt: string | null | undefined): void {
  if (typeof expireAt !== "string" || Date.parse(expireAt) > Date.now()) return;
  throw badRequest("expireAt", "must be in the future");
}

/** Stored and shown in UTC, whatever offset was sent; null and undefined are unchanged. */
function utc<T extends null | undefined>(time: string | T): string | T {
  return typeof time === "string" ? new Date(time).toISOString() : time;
}

const keyMembers = viewOf(keyRecord);
const tokenView = viewOf(tokenRecord);
const organizationMembers = viewOf(organizationRecord);

function organizationView(organization: Organization) {
  return organizationMembers({ ...organization, awsExternalId: organization.id });
}

function keyView(key: ApiKey) {
  return keyMembers({ ...key, roles: [key.role], ipAccessList: key.ipAccessList ?? anywhere });
}
