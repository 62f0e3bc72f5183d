/** Admits or refuses a request: authentication, rate limit, authorization. */
import type { FastifyRequest } from "fastify";
import type { Operation } from "../api/operation.ts";
import { AppError, notFound } from "../lib/errors.ts";
import type { Authenticator, Principal } from "./auth.ts";
import type { BrowserRequests } from "./browser.ts";
import { mayCall } from "./context.ts";
import type { ApiName } from "./errors.ts";
import type { RateDecision, RateLimiter } from "./rate-limit.ts";
import { validate } from "./validate.ts";

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
  { authenticator, rateLimiter, browser }: Admission,
  name: ApiName,
  operation: Operation,
  request: FastifyRequest,
): Promise<Principal> {
  const principal = await identify({ authenticator, browser }, name, request);
  request.rate = rateLimiter.hit(principal.credentialId);
  if (!request.rate.allowed) {
    const { limit, windowSeconds } = rateLimiter.rule;
    throw new AppError("TOO_MANY_REQUESTS", `More than ${limit} requests in ${windowSeconds} s with this credential.`);
  }
  const params = validate(operation.params, request.params, "path") as Record<string, string>;
  if (params.organizationId !== undefined && params.organizationId !== principal.organizationId) {
    throw notFound("Organization", params.organizationId);
  }
  if (!mayCall(principal.role, operation.access)) {
    throw new AppError("FORBIDDEN", `This needs the role ${operation.access}; the key has ${principal.role}.`);
  }
  request.principal = principal;
  return principal;
}

/** Credentials in the request come first; without them, both APIs accept the session of a browser. */
async function identify(
  { authenticator, browser }: Pick<Admission, "authenticator" | "browser">,
  name: ApiName,
  request: FastifyRequest,
): Promise<Principal> {
  const header = request.headers.authorization;
  const session = header === undefined ? browser.sessionOf(request.headers) : undefined;
  if (session !== undefined) {
    browser.requireOwnPage(request);
    return await authenticator.session(session, request.ip);
  }
  return await (name === "management"
    ? authenticator.basic(header, request.ip)
    : authenticator.bearer(header, request.ip));
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

/** Names and values, alternating; empty for a request that was not counted. */
export function rateHeaders(
  { rateLimiter }: Pick<Admission, "rateLimiter">,
  name: ApiName,
  { rate }: FastifyRequest,
): string[] {
  // Undefined where the router has not routed the request.
  if (rate === null || rate === undefined) return [];
  const { limit, left, reset, policy } = names[name];
  const headers = [limit, `${rateLimiter.rule.limit}`, left, `${rate.remaining}`];
  headers.push(reset, `${rate.resetSeconds}`, policy, rateLimiter.policy);
  if (!rate.allowed) headers.push("retry-after", `${Math.max(1, Math.ceil(rate.resetSeconds))}`);
  return headers;
}
