/** Prometheus text at `/metrics`. Scraping reads the store only: it never wakes a service. */

import { Gauge, Registry } from "prom-client";
import type { LoopStatus } from "../../lib/loop.ts";
import type { MetricSample } from "../../lib/metric-sample.ts";
import type { Service, ServiceStore } from "../../store/services/services.ts";

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Renders samples; samples of one name must have the same label names. */
export async function renderMetrics(samples: readonly MetricSample[]): Promise<string> {
  const registry = new Registry();
  const gauges = new Map<string, Gauge>();
  for (const sample of samples) {
    let gauge = gauges.get(sample.name);
    if (gauge === undefined) {
      const labelNames = Object.keys(sample.labels);
      gauge = new Gauge({ name: sample.name, help: sample.help, labelNames, registers: [registry] });
      gauges.set(sample.name, gauge);
    }
    gauge.set(sample.labels, sample.value);
  }
  return await registry.metrics();
}

export type ServiceNumbers = {
  /** Last known disk use of a service. */
  usedBytes(service: Service): number | undefined;
  /** Metrics reported by its engine. */
  engine(service: Service): readonly MetricSample[];
};

export async function serviceSamples(services: ServiceStore, numbers: ServiceNumbers): Promise<MetricSample[]> {
  const rows = await services.listAll();
  return rows.flatMap((service) => [
    infoSample(service),
    runningSample(service),
    ...diskSamples(service, numbers.usedBytes(service)),
    ...numbers.engine(service),
  ]);
}

function runningSample({ organizationId, id, state }: Service): MetricSample {
  return {
    name: "Service_Running",
    help: "1 while the service runs, otherwise 0; a query wakes an idle service.",
    labels: { organization: organizationId, service: id },
    value: Number(state === "running"),
  };
}

function infoSample(service: Service): MetricSample {
  return {
    name: "Service_Info",
    help: "One per service; service_status is its state.",
    labels: {
      organization: service.organizationId,
      service: service.id,
      service_name: service.name,
      service_status: service.state,
      database_version: service.databaseVersion,
    },
    value: 1,
  };
}

function diskSamples(service: Service, usedBytes: number | undefined): MetricSample[] {
  const labels = { organization: service.organizationId, service: service.id };
  const used = {
    name: "Service_DiskUsed_Bytes",
    help: "Disk use of the service's tables, as last measured.",
    labels,
  };
  const limit = { name: "Service_DiskLimit_Bytes", help: "Disk quota of the service; absent without a quota.", labels };
  return [
    ...(usedBytes === undefined ? [] : [{ ...used, value: usedBytes }]),
    ...(service.diskGb === null ? [] : [{ ...limit, value: service.diskGb * 2 ** 30 }]),
  ];
}

export function processSamples(loops: readonly LoopStatus[]): MetricSample[] {
  const memory: MetricSample = {
    name: "Control_ResidentMemory_Bytes",
    help: "Resident memory of the control plane.",
    labels: {},
    value: process.memoryUsage.rss(),
  };
  const failures = loops.map((loop) => ({
    name: "Loop_ConsecutiveFailures",
    help: "Failed passes of a loop since its last successful pass.",
    labels: { loop: loop.name },
    value: loop.consecutiveFailures,
  }));
  return [memory, ...failures];
}
