/** `/console/session`: signs a browser in and out. Not operations: they set cookies, and one needs no credentials. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { loginBody } from "../../api/identity.ts";
import { AppError } from "../../lib/errors.ts";
import { type IdentityDeps, identityOf } from "../handlers/organization/identity.ts";
import { parseJson } from "../request/body.ts";
import { validate } from "../request/validate.ts";
import type { Admission } from "./admission.ts";
import type { BrowserLogin } from "./auth.ts";

export type ConsoleSessionOptions = Pick<Admission, "authenticator" | "browser"> & IdentityDeps;

const path = "/console/session";

export function addConsoleSession(server: FastifyInstance, options: ConsoleSessionOptions): void {
  const { authenticator, browser, consoleSessions } = options;
  const onRequest = async (request: FastifyRequest) => browser.requireOwnPage(request);
  const envelope = (request: FastifyRequest, result?: unknown) => ({
    status: 200,
    requestId: request.id,
    ...(result === undefined ? {} : { result }),
  });
  const principalOf = async ({ headers, ip }: FastifyRequest) => {
    const value = browser.sessionOf(headers);
    if (value === undefined) throw new AppError("UNAUTHORIZED", "There is no session; sign in.");
    return await authenticator.session(value, ip);
  };
  server.post(path, { onRequest }, async (request: FastifyRequest, reply: FastifyReply) => {
    const login = validate(loginBody, parseJson((request.body ?? Buffer.alloc(0)) as Buffer), "body") as BrowserLogin;
    const key = await authenticator.login(login, request.ip);
    const { session, value } = await consoleSessions.create(key.id, request.headers["user-agent"] ?? "");
    const principal = { organizationId: key.organizationId, role: key.role, credentialId: key.id };
    const identity = await identityOf(options, { ...principal, sessionId: session.id }, request.ip);
    return reply.header("set-cookie", browser.cookie(value)).send(envelope(request, identity));
  });
  server.get(path, { onRequest }, async (request) =>
    envelope(request, await identityOf(options, await principalOf(request), request.ip)),
  );
  server.delete(path, { onRequest }, async (request, reply) => {
    const value = browser.sessionOf(request.headers);
    const session = value === undefined ? undefined : await consoleSessions.findByValue(value);
    if (session !== undefined) await consoleSessions.delete(session.id);
    return reply.header("set-cookie", browser.noCookie()).send(envelope(request));
  });
}
