/** Chart series: content negotiation, entity tags and compression around the charts room. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { ChartRequest, SeriesRequest } from "../../../api/charts.ts";
import { formatFor, formats } from "../../../charts/answer/answer.ts";
import type { Charts } from "../../../charts/charts.ts";
import { cacheWord, metaOf, type Outcome } from "../../../charts/outcome.ts";
import { Buckets } from "../../../charts/plan/buckets.ts";
import { namedTags } from "../../answer/answer-cache.ts";
import { gzipped, isWorthIt, wantsGzip } from "../../answer/compress.ts";
import type { Context } from "../../caller/context.ts";

/** Caches take a response with another coding for a different one. */
const gzipSuffix = '-gzip"';

export function chartHandlers(charts: Charts) {
  const answer = async (request: ChartRequest, context: Context, reply: FastifyReply, withMeta: boolean) => {
    const { headers } = reply.request;
    const format = formatFor(headers.accept);
    const known = namedTags(headers["if-none-match"]).map((tag) =>
      tag.endsWith(gzipSuffix) ? `${tag.slice(0, -gzipSuffix.length)}"` : tag,
    );
    const { organizationId, credentialId, signal } = context;
    const begin = performance.now();
    const outcome = await charts.query(request, { organizationId, credentialId, signal, format, known });
    const meta = withMeta && format === "json" ? metaText(request, outcome, performance.now() - begin) : undefined;
    return send(reply, outcome, formats[format], meta);
  };
  return {
    queryChartSeries: ({ body }: { body: SeriesRequest }, context: Context, reply: FastifyReply) =>
      answer(body, context, reply, false),
    queryChart: ({ body }: { body: ChartRequest }, context: Context, reply: FastifyReply) =>
      answer(body, context, reply, true),
  };
}

function send(reply: FastifyReply, outcome: Outcome, contentType: string, meta: string | undefined) {
  const { body, etag, rollups, warnings } = outcome;
  const gzip =
    wantsGzip(reply.request.headers["accept-encoding"]) && (body instanceof Readable || isWorthIt(body ?? []));
  // Callers may cache responses, but must revalidate: the tag shows whether rows have changed since.
  reply.header("Cache-Control", etag === undefined ? "no-store" : "private, no-cache");
  reply.header("Vary", "Accept, Accept-Encoding, Authorization, Cookie");
  if (etag !== undefined) reply.header("ETag", gzip ? `${etag.slice(0, -1)}${gzipSuffix}` : etag);
  reply.header("X-Chart-Cache", cacheWord(outcome));
  reply.header("X-Data-As-Of", new Date(outcome.asOfMs).toISOString());
  if (rollups.length > 0) reply.header("X-Chart-Rollup", rollups.map(encodeURIComponent).join(", "));
  if (warnings.length > 0) reply.header("X-Chart-Warnings", asciiJson(shortened(warnings)));
  if (body === undefined) return reply.status(304).send();
  reply.header("Content-Type", contentType);
  const pieces = body instanceof Readable || meta === undefined ? body : withTail(body, meta);
  if (gzip) {
    reply.header("Content-Encoding", "gzip");
    return reply.send(gzipped(pieces instanceof Readable ? pieces : Readable.from(pieces)));
  }
  if (pieces instanceof Readable) return reply.send(pieces);
  const text = pieces.filter((piece) => typeof piece === "string");
  if (text.length === pieces.length && text.length <= 4) return reply.send(text.join(""));
  return reply.send(Readable.from(pieces));
}

function metaText(request: ChartRequest, outcome: Outcome, elapsedMs: number): string {
  const range = { startMs: request.startTime, endMs: request.endTime };
  const buckets = new Buckets({ ...range, granularity: request.granularity, zone: request.timezone });
  return `,"meta":${JSON.stringify(metaOf(outcome, buckets, range, elapsedMs))}}`;
}

/** A JSON document ends with a brace, which the tail replaces. */
function withTail(pieces: readonly (string | Buffer)[], tail: string): (string | Buffer)[] {
  const last = pieces.at(-1) ?? "";
  const open = typeof last === "string" ? last.slice(0, -1) : last.subarray(0, -1);
  return [...pieces.slice(0, -1), open, tail];
}

const maxHeaderBytes = 4_000;

/** As many as fit into a header. */
function shortened(warnings: readonly string[]): string[] {
  let room = maxHeaderBytes;
  return warnings
    .map((warning) => warning.slice(0, 500))
    .filter((warning) => {
      room -= 6 * warning.length;
      return room >= 0 || warning === warnings[0];
    });
}

/** Headers are ASCII. */
function asciiJson(value: unknown): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, escaped);
}
