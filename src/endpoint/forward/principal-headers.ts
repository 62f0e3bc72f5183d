/** Headers that name the authenticated client of a forwarded request. Only connections of Millrace may send them. */
import type { IncomingMessage } from "node:http";
import type { DatabasePrincipal } from "../auth/logins.ts";

export function principalHeadersOf({ user, readonly, restricted, address }: DatabasePrincipal): Record<string, string> {
  return {
    "x-millrace-user": encodeURIComponent(user),
    "x-millrace-readonly": String(readonly),
    "x-millrace-restricted": restricted ? "1" : "0",
    "x-millrace-address": address,
  };
}

/** The client that the headers name; without them, one without rights to write. */
export function principalOf({ headers }: IncomingMessage): DatabasePrincipal {
  const user = decodeURIComponent(String(headers["x-millrace-user"]));
  const address = String(headers["x-millrace-address"] ?? "");
  const restricted = headers["x-millrace-restricted"] !== "0";
  return { user, readonly: headers["x-millrace-readonly"] === "0" ? 0 : 2, restricted, address };
}
