/** Who makes a request and what it may do: the second argument of every handler. */

import type { KeyRole } from "../api/keys.ts";
import type { Access } from "../api/operation.ts";

export type Context = {
  readonly organizationId: string;
  readonly role: KeyRole;
  /** Id of the key or token that authenticated the request. */
  readonly credentialId: string;
  readonly requestId: string;
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal;
};

const ranks: Record<Access | KeyRole, number> = { read: 0, read_only: 0, developer: 1, admin: 2 };

export function mayCall(role: KeyRole, access: Access): boolean {
  return ranks[role] >= ranks[access];
}
