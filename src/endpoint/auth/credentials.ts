/** Authentication: the three places where a ClickHouse client puts its name and password, and the check. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { parseBasicCredentials } from "../../lib/authorization.ts";

export type DatabaseUser = {
  readonly name: string;
  /** SHA-256 of the password, lower-case hex. An empty password is the hash of the empty string. */
  readonly passwordSha256Hex: string;
  readonly readonly: boolean;
  /** True for a user who has only the rights that statements have granted. */
  readonly restricted?: boolean;
};

export type LoginCredentials = {
  readonly user: string;
  readonly password: string;
  /** False when the request named no user, and `default` without a password was assumed. */
  readonly given: boolean;
};

/** URL parameters that are never forwarded to the engine. */
export const credentialParameters: ReadonlySet<string> = new Set(["user", "password"]);

/** Reads the credentials. A request that uses two places at once is refused, as by a ClickHouse server. */
export function readCredentials(message: IncomingMessage, query: URLSearchParams): LoginCredentials {
  const headerUser = header(message, "x-clickhouse-user");
  const headerKey = header(message, "x-clickhouse-key");
  const authorization = header(message, "authorization");
  const inHeaders = headerUser !== undefined || headerKey !== undefined;
  const inUrl = query.has("user") || query.has("password");
  if (Number(inHeaders) + Number(inUrl) + Number(authorization !== undefined) > 1) {
    throw clickHouseException(
      "AUTHENTICATION_FAILED",
      "Invalid authentication: it is not allowed to use more than one way to authenticate at the same time",
    );
  }
  if (inHeaders) return { user: headerUser || "default", password: headerKey ?? "", given: true };
  if (authorization !== undefined) return fromBasic(authorization);
  return { user: query.get("user") || "default", password: query.get("password") ?? "", given: inUrl };
}

/** The user, or undefined. Takes the same time for an unknown name as for a wrong password. */
export function authenticate(users: readonly DatabaseUser[], credentials: LoginCredentials): DatabaseUser | undefined {
  const hash = createHash("sha256").update(credentials.password).digest();
  const user = users.find(({ name }) => name === credentials.user);
  const expected = Buffer.from(user?.passwordSha256Hex ?? "", "hex");
  const comparable = expected.length === hash.length ? expected : Buffer.alloc(hash.length);
  const equal = timingSafeEqual(hash, comparable);
  return equal && expected.length === hash.length ? user : undefined;
}

function fromBasic(authorization: string): LoginCredentials {
  const basic = parseBasicCredentials(authorization);
  if (basic === undefined) {
    throw clickHouseException("AUTHENTICATION_FAILED", "Invalid authentication: only Basic is supported");
  }
  return { user: basic.user || "default", password: basic.password ?? "", given: true };
}

function header(message: IncomingMessage, name: string): string | undefined {
  const value = message.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
