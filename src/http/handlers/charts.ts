/** Chart series: content negotiation and entity tags around the charts room. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { SeriesRequest } from "../../api/charts.ts";
import { formatFor, formats } from "../../charts/answer/answer.ts";
import type { Charts } from "../../charts/charts.ts";
import { namedTags } from "../answer-cache.ts";
import type { Context } from "../context.ts";

export function chartHandlers(charts: Charts) {
  return {
    queryChartSeries: async ({ body }: { body: SeriesRequest }, context: Context, reply: FastifyReply) => {
      const { headers } = reply.request;
      const format = formatFor(headers.accept);
      const known = namedTags(headers["if-none-match"]);
      const { organizationId, credentialId, signal } = context;
      const outcome = await charts.query(body, { organizationId, credentialId, signal, format, known });
      // Answers may be kept by the caller, but are asked for again: a tag tells whether rows have changed since.
      reply.header("Cache-Control", outcome.etag === undefined ? "no-store" : "private, no-cache");
      reply.header("Vary", "Accept, Authorization");
      if (outcome.etag !== undefined) reply.header("ETag", outcome.etag);
      reply.header("X-Chart-Cache", outcome.cached ? "hit" : "miss");
      if (outcome.rollups.length > 0)
        reply.header("X-Chart-Rollup", outcome.rollups.map(encodeURIComponent).join(", "));
      if (outcome.body === undefined) return reply.status(304).send();
      reply.header("Content-Type", formats[format]);
      if (outcome.body instanceof Readable) return reply.send(outcome.body);
      const text = outcome.body.filter((piece) => typeof piece === "string");
      if (text.length === outcome.body.length && text.length <= 3) return reply.send(text.join(""));
      return reply.send(Readable.from(outcome.body));
    },
  };
}
