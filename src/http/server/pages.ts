/** Routes that are not operations: health, metrics, API documents. */
import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Operation } from "../../api/operation.ts";
import type { FailedLogins } from "../../endpoint/auth/failed-logins.ts";
import { parseBearerToken } from "../../lib/authorization.ts";
import { AppError } from "../../lib/errors.ts";
import type { LoopStatus } from "../../lib/loop.ts";
import type { MetricSample } from "../../lib/metric-sample.ts";
import { sha256 } from "../../store/database/secrets.ts";
import { pageHeaders } from "../answer/headers.ts";
import { DocsPages } from "../docs/pages.ts";
import { metricsContentType, renderMetrics } from "./metrics.ts";

export type PageOptions = {
  readonly version: string;
  readonly operations: Record<string, Operation>;
  readonly openApi: () => unknown;
  readonly loops: () => readonly LoopStatus[];
  /** Services whose endpoint could not be opened, each with a sentence. */
  readonly endpointProblems: () => ReadonlyMap<string, string>;
  readonly samples: () => Promise<MetricSample[]>;
  /** The scraper's token; without one, metrics are available from this machine only. */
  readonly metricsToken: string | undefined;
  readonly failedLogins: FailedLogins;
  /** The confinement of engines and pipe workers on this machine. */
  readonly confinement: { readonly confined: boolean; readonly sentence: string };
};

export function addPages(server: FastifyInstance, options: PageOptions): void {
  const page = (path: string, type: string, content: (request: FastifyRequest) => string) => {
    server.get(path, async (request, reply) => {
      return reply.headers(pageHeaders).header("cache-control", "no-cache").type(type).send(content(request));
    });
  };
  const html = "text/html; charset=utf-8";
  const docs = new DocsPages(options.operations);
  const openApi = lazily(() => JSON.stringify(options.openApi()));
  page("/openapi.json", "application/json", openApi);
  page("/docs", html, () => docs.index());
  page("/docs/operations/:id", html, ({ params }) => docs.operation((params as { id: string }).id));
  page("/docs/guides/:name", html, ({ params }) => docs.guide((params as { name: string }).name));
  page("/docs/search", html, ({ query }) => docs.search(String((query as { q?: unknown }).q ?? "")));
  const text = "text/plain; charset=utf-8";
  page("/llms.txt", text, () => docs.llms("index"));
  page("/llms-full.txt", text, () => docs.llms("full"));
  server.get("/health", async () => {
    const { confined, sentence } = options.confinement;
    const endpoints = [...options.endpointProblems()].map(([serviceId, problem]) => ({ serviceId, problem }));
    const loops = options.loops();
    const status = endpoints.length > 0 || loops.some(isFailing) ? "degraded" : "ok";
    // Anybody may ask. Reasons may contain hosts, files and names; the log and GET /v1/system have them.
    const states = loops.map(({ lastError: _, ...state }) => state);
    return { status, version: options.version, loops: states, endpoints, confinement: { confined, sentence } };
  });
  server.get("/metrics", async (request, reply) => {
    await admitScraper(request, options);
    return reply.type(metricsContentType).send(await renderMetrics(await options.samples()));
  });
}

/** A single failure may be transient; a loop that fails repeatedly does not do its work. */
function isFailing({ consecutiveFailures }: LoopStatus): boolean {
  return consecutiveFailures >= 3;
}

/**
 * Metrics contain names of services and pipes of all organizations. With a token, only its holder gets them; without
 * one, any caller on this machine, unless a proxy forwards the request for someone else.
 */
async function admitScraper({ headers, ip }: FastifyRequest, options: PageOptions): Promise<void> {
  const { metricsToken, failedLogins } = options;
  if (metricsToken === undefined) {
    if (isLoopback(ip) && !forwardedHeaders.some((name) => headers[name] !== undefined)) return;
    throw new AppError("FORBIDDEN", "Without metricsToken, only clients on this machine can read metrics.");
  }
  const given = parseBearerToken(headers.authorization);
  if (given !== undefined && timingSafeEqual(sha256(given), sha256(metricsToken))) return;
  if (given !== undefined && !(await failedLogins.failed(ip))) {
    throw new AppError("TOO_MANY_REQUESTS", "Too many failed logins from this address.");
  }
  throw new AppError("UNAUTHORIZED", "Send the metricsToken as a bearer token.");
}

/** Headers that proxies add. */
const forwardedHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

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
