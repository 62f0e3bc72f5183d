/** Headers that every answer carries, whoever wrote it. */
import type { FastifyInstance } from "fastify";

/** A year: browsers ask for https by themselves from then on. */
const strictTransport = ["strict-transport-security", "max-age=31536000"];

/** Names and values in turn, for answers that are written past the router. They hold secrets, or names of things. */
export function fixedHeaders(tls: boolean): string[] {
  return ["cache-control", "no-store", ...safeHeaders(tls)];
}

/** For answers with an entity tag. Their caller may keep them, and asks each time whether they still hold. */
export function taggedHeaders(tls: boolean): string[] {
  return ["cache-control", "private, no-cache", "vary", "Authorization", ...safeHeaders(tls)];
}

function safeHeaders(tls: boolean): string[] {
  return ["x-content-type-options", "nosniff", ...(tls ? strictTransport : [])];
}

/** For answers that the router sends. One that says how it may be kept is left to say so. */
export function addFixedHeaders(server: FastifyInstance, tls: boolean): void {
  const headers = fixedHeaders(tls);
  server.addHook("onSend", async (_request, reply) => {
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      if (!reply.hasHeader(name)) reply.header(name, headers[i + 1]);
    }
  });
}

/** For pages with markup: no scripts, nothing from elsewhere, in nobody's frame. */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};
