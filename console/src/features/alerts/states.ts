/** Alerts of states in words: what each metric watches, and the condition that most people want of it. */
import type { StateMetric } from "../../../../src/api/alerts.ts";
import type { OperationResult } from "../../api/client.ts";

type Alert = OperationResult<"listAlerts">["data"][number];

type MetricWords = {
  readonly label: string;
  readonly of: "pipe" | "service";
  readonly thresholdType: Alert["thresholdType"];
  readonly threshold: string;
  /** When there is no value to compare. Absent: there always is one. */
  readonly withoutValue?: string;
};

const least = { thresholdType: "above", threshold: "1" } as const;

export const stateMetrics: Readonly<Record<StateMetric, MetricWords>> = {
  pipe_attention: { ...least, label: "Pipe needs attention", of: "pipe" },
  pipe_lag_seconds: {
    ...{ ...least, threshold: "300", label: "Seconds that a pipe is behind", of: "pipe" },
    withoutValue: "While the lag is not known",
  },
  pipe_refused_rows: { ...least, label: "Rows that a pipe refuses", of: "pipe" },
  service_attention: { ...least, label: "Service needs attention", of: "service" },
  backup_age_hours: {
    ...{ ...least, threshold: "26", label: "Hours since the newest good backup", of: "service" },
    withoutValue: "While there is no good backup",
  },
  disk_free_percent: {
    ...{ thresholdType: "below", threshold: "10", label: "Free disk in percent", of: "service" },
    withoutValue: "While the free disk is not known",
  },
};

/** Undefined for other text, such as that of an address. */
export function stateMetricOf(name: unknown): StateMetric | undefined {
  return (Object.keys(stateMetrics) as StateMetric[]).find((metric) => metric === name);
}

/** Whether the metric is 1 or 0: there is no threshold to choose. */
export function isYesOrNo(metric: StateMetric | undefined): boolean {
  return metric === "pipe_attention" || metric === "service_attention";
}

type Limit = Pick<Alert, "pipeId" | "serviceId">;

/** `pipe:ID` or `service:ID`; empty: all. */
export function limitText({ pipeId, serviceId }: Limit): string {
  if (pipeId !== undefined) return `pipe:${pipeId}`;
  return serviceId === undefined ? "" : `service:${serviceId}`;
}

/** The members of the alert that such a text is. */
export function limitOf(text: string): Limit {
  const [kind, id = ""] = text.split(":");
  if (kind === "pipe") return { pipeId: id };
  return kind === "service" ? { serviceId: id } : {};
}

type Named = { readonly id: string; readonly name: string };
type Lists = {
  readonly services: readonly Named[] | undefined;
  readonly pipes: readonly (Named & { readonly serviceName: string })[] | undefined;
};

/** What the metric can be limited to. */
export function limitOptions(metric: StateMetric, { pipes = [], services = [] }: Lists) {
  const ofServices = services.map(({ id, name }) => ({ value: `service:${id}`, label: name }));
  if (stateMetrics[metric].of === "service") return [{ value: "", label: "Every service" }, ...ofServices];
  return [
    { value: "", label: "Every pipe" },
    ...pipes.map(({ id, name, serviceName }) => ({ value: `pipe:${id}`, label: `${name} in ${serviceName}` })),
    ...ofServices.map(({ value, label }) => ({ value, label: `Every pipe in ${label}` })),
  ];
}
