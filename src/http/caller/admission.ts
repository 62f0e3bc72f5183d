/** Admits or refuses a request: authentication, rate limit, authorization. */
import type { FastifyRequest } from "fastify";
import type { Operation } from "../../api/operation.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import type { ApiName } from "../answer/errors.ts";
import { validate } from "../request/validate.ts";
import type { Authenticator } from "./auth.ts";
import type { BrowserRequests } from "./browser.ts";
import { mayCall } from "./context.ts";
import type { Principal } from "./principals.ts";
import type { RateDecision, RateLimiter } from "./rate-limit.ts";

export type Admission = {
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly browser: BrowserRequests;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the request is admitted. */
    principal: Principal | null;
    /** Set once the request is counted. */
    rate: RateDecision | null;
  }
}

/** Authenticates, counts and authorizes a request; throws when one of the three fails. */
export async function admit(
  admission: Admission,
  name: ApiName,
  operation: Operation,
  request: FastifyRequest,
): Promise<Principal> {
  const principal = await identify(admission, name, request);
  countRequest(admission, request, principal);
  authorize(operation, request, principal);
  request.principal = principal;
  return principal;
}

/**
 * Whom the request comes from. Credentials in the request come first; without them, both APIs accept the session of a
 * browser. Throws what the authenticator throws.
 */
export function identify(
  { authenticator, browser }: Pick<Admission, "authenticator" | "browser">,
  name: ApiName,
  request: FastifyRequest,
): Principal | Promise<Principal> {
  const { headers, ip } = request;
  const header = headers.authorization;
  const session = header === undefined ? browser.sessionOf(headers) : undefined;
  if (session !== undefined) {
    browser.requireOwnPage(request);
    return authenticator.principalOf("session", session, ip);
  }
  return authenticator.principalOf(name === "management" ? "basic" : "bearer", header, ip);
}

/** Counts the request against the limit of its credential; throws TOO_MANY_REQUESTS. */
export function countRequest(
  { rateLimiter }: Pick<Admission, "rateLimiter">,
  request: FastifyRequest,
  { credentialId }: Principal,
): void {
  request.rate = rateLimiter.hit(credentialId);
  if (request.rate.allowed) return;
  const { limit, windowSeconds } = rateLimiter.rule;
  throw new AppError("TOO_MANY_REQUESTS", `More than ${limit} requests in ${windowSeconds} s with this credential.`);
}

/** Throws for a wrong path, for a path of another organization, and for a role that may not call the operation. */
export function authorize(operation: Operation, request: FastifyRequest, principal: Principal): void {
  const params = validate(operation.params, request.params, "path") as Record<string, string>;
  request.params = params;
  if (params.organizationId !== undefined && params.organizationId !== principal.organizationId) {
    throw notFound("Organization", params.organizationId);
  }
  if (!mayCall(principal.role, operation.access)) {
    const needed = operation.access === "read" ? "read_only" : operation.access;
    throw new AppError("FORBIDDEN", `This needs the role ${needed}; the key has ${principal.role}.`);
  }
}

const names = { management: namesWith("x-ratelimit"), observability: namesWith("ratelimit") } as const;

function namesWith(prefix: string) {
  return {
    limit: `${prefix}-limit`,
    left: `${prefix}-remaining`,
    reset: `${prefix}-reset`,
    policy: `${prefix}-policy`,
  };
}

/** Adds names and values, alternating, to `headers`; nothing for a request that was not counted. */
export function rateHeaders(
  { rateLimiter }: Pick<Admission, "rateLimiter">,
  name: ApiName,
  { rate }: FastifyRequest,
  headers: string[] = [],
): string[] {
  // Undefined where the router has not routed the request.
  if (rate === null || rate === undefined) return headers;
  const { limit, left, reset, policy } = names[name];
  headers.push(limit, `${rateLimiter.rule.limit}`, left, `${rate.remaining}`);
  headers.push(reset, `${rate.resetSeconds}`, policy, rateLimiter.policy);
  if (!rate.allowed) headers.push("retry-after", `${Math.max(1, Math.ceil(rate.resetSeconds))}`);
  return headers;
}
