/** Who may send rows to a pipe: keys, requests that are signed with the pipe's secret, and pages of allowed origins. */
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../lib/errors.ts";
import type { PushConfig } from "../../sources/push/declaration/kind.ts";
import type { Authenticator } from "../caller/auth.ts";
import { mayCall } from "../caller/context.ts";
import type { Principal } from "../caller/principals.ts";
import type { PushPipe } from "./pipes.ts";
import { type SignatureCheck, signatureCheck } from "./signatures.ts";

export type Sender = {
  /** Undefined: the request is signed instead. */
  readonly principal: Principal | undefined;
  readonly signature: SignatureCheck | undefined;
};

type Asked = { readonly headers: IncomingHttpHeaders; readonly ip: string };

/** Throws UNAUTHORIZED or FORBIDDEN; `pipe` is undefined when there is none, of which strangers learn nothing. */
export function senderOf(
  authenticator: Authenticator,
  { headers, ip }: Asked,
  pipeId: string,
  pipe: PushPipe | undefined,
): Sender | Promise<Sender> {
  const login = loginOf(headers);
  if (login !== undefined) {
    const principal = authenticator.principalOf("sender", login, ip);
    return principal instanceof Promise
      ? principal.then((found) => withKey(found, pipeId))
      : withKey(principal, pipeId);
  }
  const { signature } = pipe?.config ?? {};
  if (signature === undefined) throw new AppError("UNAUTHORIZED", "Send a key that may push to the pipe.");
  return { principal: undefined, signature: signatureCheck(signature, headers) };
}

/** The pipe to which a key may push. Throws UNAUTHORIZED, and FORBIDDEN for a key that belongs to no pipe. */
export async function pipeOfKey(authenticator: Authenticator, { headers, ip }: Asked): Promise<string> {
  const login = loginOf(headers);
  if (login === undefined) throw new AppError("UNAUTHORIZED", "Send a key that may push to the pipe.");
  const { pipeId } = await authenticator.principalOf("sender", login, ip);
  if (pipeId == null) throw new AppError("FORBIDDEN", "The key must have the role push: its pipe gets the telemetry.");
  return pipeId;
}

/** The header with the key, whatever the header in which it came. */
function loginOf({ authorization, "x-api-key": plain }: IncomingHttpHeaders): string | undefined {
  return authorization ?? (typeof plain === "string" ? `Bearer ${plain}` : undefined);
}

function withKey(principal: Principal, pipeId: string): Sender {
  const { role, pipeId: own } = principal;
  const isOwn = role === "push" && own === pipeId;
  if (role === "push" && !isOwn) throw new AppError("FORBIDDEN", "The key may push to another pipe only.");
  if (!isOwn && !mayCall(role, "developer")) {
    throw new AppError("FORBIDDEN", `This needs the role push or developer; the key has ${role}.`);
  }
  return { principal, signature: undefined };
}

/** Headers that let the page read the response. Throws FORBIDDEN for a page of another origin. */
export function originHeaders({ allowedOrigins = [] }: PushConfig, origin: string | undefined): string[] {
  if (origin === undefined) return [];
  if (!allowedOrigins.includes("*") && !allowedOrigins.includes(origin)) {
    throw new AppError("FORBIDDEN", "The origin of the page is not in allowedOrigins of the pipe.");
  }
  return ["access-control-allow-origin", origin, "vary", "Origin", "access-control-expose-headers", "Retry-After"];
}
