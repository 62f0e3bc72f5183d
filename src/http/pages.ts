/** Routes that are not operations: health, metrics, API documents. */
import type { FastifyInstance } from "fastify";
import type { Operation } from "../api/operation.ts";
import { AppError } from "../lib/errors.ts";
import type { LoopStatus } from "../lib/loop.ts";
import type { Authenticator } from "./auth.ts";
import { docsPage } from "./docs-page.ts";
import { metricsContentType, renderMetrics, type Sample } from "./metrics.ts";

export type PageOptions = {
  readonly version: string;
  readonly operations: Record<string, Operation>;
  readonly openApi: () => unknown;
  readonly loops: () => readonly LoopStatus[];
  readonly samples: () => Promise<Sample[]>;
  readonly authenticator: Authenticator;
  /** What confines engines and pipe workers on this machine. */
  readonly confinement: { readonly confined: boolean; readonly sentence: string };
};

export function addPages(server: FastifyInstance, options: PageOptions): void {
  const { confined, sentence } = options.confinement;
  server.get("/health", async () => ({
    status: "ok",
    version: options.version,
    loops: options.loops(),
    confinement: { confined, sentence },
  }));
  const openApi = lazily(() => JSON.stringify(options.openApi()));
  server.get("/openapi.json", async (_request, reply) => reply.type("application/json").send(openApi()));
  const page = lazily(() => docsPage(options.operations));
  server.get("/docs", async (_request, reply) => reply.type("text/html; charset=utf-8").send(page()));
  server.get("/", async (_request, reply) => reply.redirect("/docs"));
  server.get("/metrics", async (request, reply) => {
    // Names of services and pipes are in it: a scraper on this machine is trusted, one from elsewhere needs a key.
    if (!isLoopback(request.ip)) {
      const principal = await options.authenticator.basic(request.headers.authorization, request.ip);
      if (principal.role !== "admin") throw new AppError("FORBIDDEN", "Metrics need the role admin.");
    }
    return reply.type(metricsContentType).send(await renderMetrics(await options.samples()));
  });
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.") || address.startsWith("::ffff:127.");
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
