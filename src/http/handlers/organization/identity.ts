/** Who the caller is, links to sign in, and browser sessions. */
import type { z } from "zod";
import type { identityOperations, identityRecord } from "../../../api/identity.ts";
import { plainAddress } from "../../../endpoint/auth/access-list.ts";
import { AppError, found } from "../../../lib/errors.ts";
import type { ConsoleSession } from "../../../store/access/console-sessions.ts";
import type { Stores } from "../../../store/open.ts";
import type { Context } from "../../caller/context.ts";
import type { Principal } from "../../caller/principals.ts";
import type { Management } from "../lookups.ts";

export type IdentityDeps = Pick<Stores, "organizations" | "credentials" | "consoleSessions"> & {
  readonly version: string;
  /** URL of the API, as clients use it. */
  readonly baseUrl: () => string;
};

export function identityHandlers(deps: IdentityDeps): Management<keyof typeof identityOperations> {
  const { credentials, consoleSessions: sessions } = deps;
  /** Only admins see the sessions of other keys. */
  const visible = ({ organizationId, role, credentialId }: Context) =>
    sessions.list(organizationId, role === "admin" ? undefined : credentialId);
  return {
    getMe: (_input, context) => identityOf(deps, context, context.address),
    createConsoleLink: async (_input, context) => {
      // A session would otherwise extend itself beyond its longest life.
      if (context.sessionId !== undefined) {
        throw new AppError("FORBIDDEN", "A session cannot create links; use the key itself.");
      }
      const { token, expiresAt } = await sessions.createLink(context.credentialId);
      return { url: `${deps.baseUrl()}/console/#login=${token}`, expiresAt };
    },
    listSessions: async (_input, context) => {
      const names = new Map((await credentials.listKeys(context.organizationId)).map(({ id, name }) => [id, name]));
      return (await visible(context)).map((session) => ({
        ...sessionView(session),
        keyId: session.keyId,
        keyName: names.get(session.keyId) ?? "",
        current: session.id === context.sessionId,
      }));
    },
    deleteSession: async ({ params }, context) => {
      const session = (await visible(context)).find(({ id }) => id === params.sessionId);
      await sessions.delete(found(session, "Session", params.sessionId).id);
      return undefined;
    },
  };
}

/** The caller, for `GET /v1/me` and the console's session. */
export async function identityOf(
  { organizations, credentials, consoleSessions, version }: IdentityDeps,
  { organizationId, role, credentialId, sessionId }: Omit<Principal, "expiresAt">,
  address: string,
): Promise<z.input<typeof identityRecord>> {
  const key = found(await credentials.findKey(organizationId, credentialId), "Key", credentialId);
  const organization = found(await organizations.find(organizationId), "Organization", organizationId);
  const session = (await consoleSessions.list(organizationId, credentialId)).find(({ id }) => id === sessionId);
  return {
    key: { id: key.id, name: key.name, role },
    organization: { id: organization.id, name: organization.name },
    ...(session === undefined ? {} : { session: sessionView(session) }),
    version,
    address: plainAddress(address),
  };
}

function sessionView({ id, createdAt, lastSeenAt, expiresAt, userAgent }: ConsoleSession) {
  return { id, createdAt, lastSeenAt, expiresAt, userAgent };
}
