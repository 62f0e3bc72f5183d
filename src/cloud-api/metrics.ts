/** Names of metrics there, with the numbers of ours that they show: data alone. What has no counterpart is absent. */
import { sourceNames } from "./dialect.ts";

export type MetricName = {
  readonly name: string;
  readonly help: string;
  /** Ours times this is theirs; default 1. */
  readonly factor?: number;
};

export const serviceInfo: MetricName = {
  name: "ClickHouse_ServiceInfo",
  help: "One per service, with its state and version; scrape is partial if numbers of a running service are missing.",
};

/** States of services there; ours that are missing have the same name. */
export const clusterStatuses: Readonly<Record<string, string>> = {
  provisioning: "awaking",
  starting: "awaking",
  stopping: "stopped",
  terminating: "stopped",
  failed: "degraded",
};

const event = (name: string, help: string, factor?: number): MetricName => ({
  name: `ClickHouseProfileEvents_${name}`,
  help,
  ...(factor === undefined ? {} : { factor }),
});
const gauge = (name: string, help: string): MetricName => ({ name: `ClickHouseMetrics_${name}`, help });

/** By the name of the engine's metric at `/metrics`. */
export const engineNames: Readonly<Record<string, MetricName>> = {
  Service_Memory_Bytes: gauge("MemoryTracking", "Bytes of memory tracked by the engine."),
  Service_RunningQueries: gauge("Query", "Queries that are currently running."),
  Service_Connections: gauge("HTTPConnection", "Open HTTP connections to the engine."),
  Service_RunningMerges: gauge("Merge", "Merges that are currently running."),
  Service_Queries_Total: event("Query", "Queries since the engine started."),
  Service_SelectQueries_Total: event("SelectQuery", "SELECT queries since the engine started."),
  Service_InsertQueries_Total: event("InsertQuery", "INSERT queries since the engine started."),
  Service_FailedQueries_Total: event("FailedQuery", "Queries that ended with an error."),
  Service_FailedSelectQueries_Total: event("FailedSelectQuery", "SELECT queries that ended with an error."),
  Service_FailedInsertQueries_Total: event("FailedInsertQuery", "INSERT queries that ended with an error."),
  Service_QueryTime_Seconds_Total: event("QueryTimeMicroseconds", "Total time of all queries.", 1e6),
  Service_CpuTime_Seconds_Total: event("OSCPUVirtualTimeMicroseconds", "Processor time of the engine.", 1e6),
  Service_SelectedRows_Total: event("SelectedRows", "Rows read from tables."),
  Service_SelectedBytes_Total: event("SelectedBytes", "Bytes read from tables, uncompressed."),
  Service_InsertedRows_Total: event("InsertedRows", "Rows inserted into tables."),
  Service_InsertedBytes_Total: event("InsertedBytes", "Bytes inserted into tables, uncompressed."),
  Service_MergedRows_Total: event("MergedRows", "Rows read by merges."),
};

export const pipeInfo: MetricName = { name: "ClickPipes_Info", help: "One per pipe, with its state." };

/** By the name of a pipe's counter or gauge. */
export const pipeNames: Readonly<Record<string, MetricName>> = {
  fetchedRows: { name: "ClickPipes_FetchedEvents_Total", help: "Rows read from the source and dealt with." },
  sentRows: { name: "ClickPipes_SentEvents_Total", help: "Rows loaded into the destination." },
  fetchedBytes: { name: "ClickPipes_FetchedBytes_Total", help: "Bytes read from the source, as stored there." },
  sentBytes: { name: "ClickPipes_SentBytes_Total", help: "Bytes written to the destination, uncompressed." },
  errors: { name: "ClickPipes_Errors_Total", help: "Refused rows and other events that the error table records." },
  latencyMs: { name: "ClickPipes_Latency", help: "Age of the newest data when it was loaded, in ms." },
  lagBytes: {
    name: "ClickPipes_SourceReplicationLatency_MiB",
    help: "Log of the source after the last durable position, in MiB.",
    factor: 2 ** -20,
  },
};

export const eventsPerTable: MetricName = {
  name: "ClickPipes_FetchedEvents_PerTable",
  help: "Changes read per table since the worker started; event_type is insert, update or delete.",
};

/** By the gauge that is reported as `gauge:table`. */
export const eventTypes: Readonly<Record<string, string>> = {
  insertedRows: "insert",
  updatedRows: "update",
  deletedRows: "delete",
};

export function sourceLabel(kind: string): string {
  return sourceNames[kind] ?? kind;
}

/** Labels of a service, which every sample has. */
export function serviceLabels(service: {
  readonly organizationId: string;
  readonly id: string;
  readonly name: string;
}) {
  return {
    clickhouse_org: service.organizationId,
    clickhouse_service: service.id,
    clickhouse_service_name: service.name,
  };
}

/** `state` is ours. */
export function infoLabels(state: string, version: string, isComplete: boolean) {
  return {
    clickhouse_cluster_status: clusterStatuses[state] ?? state,
    clickhouse_version: version,
    scrape: isComplete ? "full" : "partial",
  };
}

export function pipeLabels(pipe: { readonly id: string; readonly name: string; readonly sourceKind: string }) {
  return { clickpipe_id: pipe.id, clickpipe_name: pipe.name, clickpipe_source: sourceLabel(pipe.sourceKind) };
}

export const pipeStateLabel = "clickpipe_state";
