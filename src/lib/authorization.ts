/** The content of an `Authorization: Basic` header (RFC 7617). */
export type BasicCredentials = {
  readonly user: string;
  /** Undefined when the credentials have no colon. */
  readonly password: string | undefined;
};

/** Accepts both base64 alphabets; undefined for anything else, also for another scheme. */
export function parseBasicCredentials(header: string | undefined): BasicCredentials | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]*={0,2}) *$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 0) return { user: decoded, password: undefined };
  return { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** The content of an `Authorization: Bearer` header (RFC 6750); undefined for another scheme. */
export function parseBearerToken(header: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1];
}
