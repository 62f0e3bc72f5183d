/** Headers of every response, whoever writes it. */
import type { FastifyInstance, FastifyReply } from "fastify";

/** One year: until then browsers use https by themselves. */
const strictTransport = ["strict-transport-security", "max-age=31536000"];

/**
 * Names and values, alternating, for responses that bypass the router. They may contain secrets or names, so they are
 * not cached.
 */
export function fixedHeaders(tls: boolean): string[] {
  return ["cache-control", "no-store", ...safeHeaders(tls)];
}

/** The headers of responses with an entity tag. Callers may cache them, and must revalidate each time. */
export function taggedHeaders(tls: boolean): string[] {
  return ["cache-control", "private, no-cache", "vary", "Authorization, Cookie", ...safeHeaders(tls)];
}

function safeHeaders(tls: boolean): string[] {
  return ["x-content-type-options", "nosniff", ...(tls ? strictTransport : [])];
}

/** Sets names and values, alternating, on a response that the router sends. */
export function setHeaders(reply: FastifyReply, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i] as string, headers[i + 1]);
}

/** Adds them to responses that the router sends. A response's own Cache-Control is kept. */
export function addFixedHeaders(server: FastifyInstance, tls: boolean): void {
  const headers = fixedHeaders(tls);
  server.addHook("onSend", async (_request, reply) => {
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      if (!reply.hasHeader(name)) reply.header(name, headers[i + 1]);
    }
  });
}

/** Pages with markup have no scripts, no other origins and no framing. */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};
