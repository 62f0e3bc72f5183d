/** Who the caller is, and the sessions of browsers that act as a key. An extension of the contract. */
import { z } from "zod";
import { keyRoles } from "./keys.ts";
import { operations, timestamp, uuid } from "./operation.ts";

const session = {
  id: uuid,
  createdAt: timestamp,
  lastSeenAt: timestamp.describe("Last request, to the minute; a session without requests ends after 12 hours"),
  expiresAt: timestamp.describe("End of the session, also when it is used"),
  userAgent: z.string().describe("The browser, as it described itself when the session began"),
};

export const identityRecord = z
  .object({
    key: z.object({ id: uuid, name: z.string(), role: z.enum(keyRoles) }),
    organization: z.object({ id: uuid, name: z.string() }),
    session: z.object(session).optional().describe("Present when a browser's session authenticated the request"),
    version: z.string().describe("Version of the server"),
    address: z.string().describe("The address of the caller, as the server sees it; access lists compare with it"),
  })
  .meta({ id: "Identity" });

export const sessionRecord = z
  .object({
    ...session,
    keyId: uuid.describe("The key as which the session acts"),
    keyName: z.string(),
    current: z.boolean().describe("True for the session that authenticated this request"),
  })
  .meta({ id: "Session" });

const root = "/v1/organizations/{organizationId}";
const shared = { tag: "Keys", access: "read" } as const;

/** The body of `POST /console/session`. */
export const loginBody = z.union(
  [
    z.strictObject({ token: z.string().min(1).max(200) }),
    z.strictObject({ keyId: z.string().min(1).max(200), keySecret: z.string().max(1000) }),
  ],
  { error: "must be {token}, or {keyId, keySecret}" },
);

export const identityOperations = operations(shared, {
  getMe: {
    method: "GET",
    path: "/v1/me",
    summary: "Gets the key, role and organization of the caller",
    result: identityRecord,
  },
  createConsoleLink: {
    method: "POST",
    path: `${root}/consoleLinks`,
    summary: "Creates a link that signs a browser in as the calling key, once and within ten minutes",
    result: z.object({
      url: z.string().describe("Secret; its fragment has the form `#login=TOKEN`"),
      expiresAt: timestamp,
    }),
  },
  listSessions: {
    method: "GET",
    path: `${root}/sessions`,
    summary: "Lists the browser sessions of the calling key; for an admin, of all keys",
    result: z.array(sessionRecord),
  },
  deleteSession: {
    method: "DELETE",
    path: `${root}/sessions/{sessionId}`,
    summary: "Ends a browser session of the calling key; for an admin, of any key",
  },
});
