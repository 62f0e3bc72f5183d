/** Metrics of one organization or service, from the store and the last readings of running engines. */
import type { FastifyReply } from "fastify";
import {
  engineNames,
  eventsPerTable,
  eventTypes,
  infoLabels,
  type MetricName,
  pipeInfo,
  pipeLabels,
  pipeNames,
  pipeStateLabel,
  serviceInfo,
  serviceLabels,
} from "../../../cloud-api/metrics.ts";
import type { MetricSample } from "../../../lib/metric-sample.ts";
import type { EngineValues } from "../../../services/recorder.ts";
import type { Stores } from "../../../store/open.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";
import type { Service } from "../../../store/services/services.ts";
import { sendText } from "../../answer/answer.ts";
import type { Context } from "../../caller/context.ts";
import { metricsContentType, renderMetrics } from "../../server/metrics.ts";
import { findService } from "../lookups.ts";

export type PrometheusDeps = Pick<Stores, "services" | "pipes" | "pipeOverviews"> & {
  /** Last readings of a running engine, the newest last; empty if there is none. */
  readonly readings: (serviceId: string) => readonly EngineValues[];
  /** Gauges of a pipe's workers. */
  readonly gauges: (pipeId: string) => Readonly<Record<string, number>>;
  /** Headers of a response: names and values, alternating. */
  readonly headers: (reply: FastifyReply) => readonly string[];
};

type Query = { readonly filtered_metrics: "true" | "false" };
type Input<Params> = { readonly params: Params; readonly query: Query };

export function prometheusHandlers(deps: PrometheusDeps) {
  const send = async (services: readonly Service[], query: Query, reply: FastifyReply): Promise<void> => {
    const samples: MetricSample[] = [];
    for (const service of services) samples.push(...(await samplesOf(deps, service, query)));
    sendText(reply, ["content-type", metricsContentType, ...deps.headers(reply)], await renderMetrics(samples));
  };
  return {
    getPrometheus: async (
      { params, query }: Input<{ organizationId: string }>,
      _context: Context,
      reply: FastifyReply,
    ): Promise<void> => await send(await deps.services.listIn(params.organizationId), query, reply),
    getServicePrometheus: async (
      { params, query }: Input<{ organizationId: string; serviceId: string }>,
      _context: Context,
      reply: FastifyReply,
    ): Promise<void> => await send([await findService(deps, params)], query, reply),
  };
}

async function samplesOf(deps: PrometheusDeps, service: Service, query: Query): Promise<MetricSample[]> {
  const labels = serviceLabels(service);
  const isRunning = service.state === "running";
  const reading = isRunning ? deps.readings(service.id).at(-1) : undefined;
  const info = infoLabels(service.state, service.databaseVersion, !isRunning || reading !== undefined);
  const samples = [sample(serviceInfo, { ...labels, ...info }, 1)];
  for (const [name, metric] of Object.entries(engineNames)) {
    const value = reading?.values[name];
    if (value !== undefined) samples.push(sample(metric, labels, value));
  }
  const counters = await deps.pipeOverviews.countersIn(service.id);
  for (const pipe of await deps.pipes.listIn(service.id)) {
    const values = { ...counters.get(pipe.id), ...deps.gauges(pipe.id) };
    samples.push(...pipeSamplesOf(pipe, values, labels, query.filtered_metrics === "false"));
  }
  return samples;
}

function pipeSamplesOf(
  pipe: Pipe,
  values: Readonly<Record<string, number>>,
  ofService: Readonly<Record<string, string>>,
  withTables: boolean,
): MetricSample[] {
  const labels = { ...ofService, ...pipeLabels(pipe) };
  const samples = [sample(pipeInfo, { ...labels, [pipeStateLabel]: pipe.state }, 1)];
  for (const [key, value] of Object.entries(values)) {
    const metric = pipeNames[key];
    if (metric !== undefined) samples.push(sample(metric, labels, value));
    const [kind = "", ...table] = key.split(":");
    const eventType = eventTypes[kind];
    if (!withTables || eventType === undefined || table.length === 0) continue;
    const ofTable = { destination_table: table.join(":"), event_type: eventType };
    samples.push(sample(eventsPerTable, { ...labels, ...ofTable }, value));
  }
  return samples;
}

function sample(
  { name, help, factor = 1 }: MetricName,
  labels: Readonly<Record<string, string>>,
  value: number,
): MetricSample {
  return { name, help, labels, value: value * factor };
}
