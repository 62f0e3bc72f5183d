/** Metrics of one organization or service in the Prometheus text format, under the names of ClickHouse Cloud. */
import { z } from "zod";
import { operations } from "./operation.ts";

const query = z.object({
  filtered_metrics: z.enum(["true", "false"]).default("false").describe("true: without the numbers per table"),
});

const common = {
  method: "GET",
  tag: "Metrics",
  access: "read",
  query,
  streams: "Samples in the Prometheus text format (text/plain)",
} as const;

export const prometheusOperations = operations(common, {
  getPrometheus: {
    path: "/v1/organizations/{organizationId}/prometheus",
    summary: "Gets metrics of all services of an organization and their pipes; wakes no service and keeps none awake",
  },
  getServicePrometheus: {
    path: "/v1/organizations/{organizationId}/services/{serviceId}/prometheus",
    summary: "Gets metrics of a service and its pipes; neither wakes it nor keeps it awake",
  },
});
