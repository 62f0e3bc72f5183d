/** Metrics of pipes for Prometheus. Reads the store and worker reports: never wakes a service. */
import type { MetricSample } from "../../../lib/metric-sample.ts";
import type { LeftoverStore } from "../../../store/pipes/leftovers.ts";
import type { Pipe, PipeStore } from "../../../store/pipes/pipes.ts";

const counters: Readonly<Record<string, readonly [name: string, help: string]>> = {
  fetchedRows: ["Pipes_FetchedEvents_Total", "Rows read from the source and dealt with: sent, refused or skipped."],
  sentRows: ["Pipes_SentEvents_Total", "Rows loaded into the destination."],
  refusedRows: ["Pipes_RefusedEvents_Total", "Rows that could not be loaded; the error table has them."],
  skippedRows: ["Pipes_SkippedEvents_Total", "Rows that are not meant for the destination, such as tombstones."],
  fetchedBytes: ["Pipes_FetchedBytes_Total", "Bytes read from the source, as stored there."],
  sentBytes: ["Pipes_SentBytes_Total", "Bytes written to the destination, uncompressed."],
  errors: ["Pipes_Errors_Total", "Refused rows, and objects, gaps and other events that the error table records."],
  filesLoaded: ["Pipes_FilesLoaded_Total", "Objects loaded."],
  filesFailed: ["Pipes_FilesFailed_Total", "Objects that could not be loaded and are not tried again."],
};

const gauges: Readonly<Record<string, readonly [name: string, help: string]>> = {
  latencyMs: ["Pipes_Latency", "Age of the newest data when it was loaded, in ms."],
  filesPending: ["Pipes_FilesPending", "Objects found but not yet loaded."],
  bytesPending: ["Pipes_BytesPending", "Bytes of the objects found but not yet loaded."],
  listMs: ["Pipes_ListDuration", "Duration of the last LIST call, in ms."],
  commitErrors: ["Pipes_CommitErrors", "Failed commits of consumer group offsets since the worker started."],
  rebalances: ["Pipes_Rebalances", "Joins of the consumer group by a worker, and changes of the group's members."],
  lagMessages: ["Pipes_LagMessages", "Messages at the source that are not yet loaded."],
  lagBytes: ["Pipes_SourceLagBytes", "Bytes of the source's log after the last durable position."],
  lagSeconds: [
    "Pipes_SourceLagSeconds",
    "Age in seconds of the newest received transaction, while it is not durable; time since the oldest pending object was found; age of the oldest row of an inbox.",
  ],
  acceptedRows: ["Pipes_AcceptedEvents", "Rows that were sent to the pipe and are durable, since the server started."],
  inboxBytes: ["Pipes_InboxBytes", "Disk that the inbox of the pipe takes, in bytes."],
  inboxKeys: ["Pipes_InboxKeys", "Idempotency keys that the inbox of the pipe remembers."],
  slotRetainedBytes: ["Pipes_SlotRetainedBytes", "Bytes of log that the source retains for the slot."],
  slotSafeBytes: ["Pipes_SlotSafeBytes", "Bytes of log that may be written before the source invalidates the slot."],
  slotBurnBytesPerSecond: ["Pipes_SlotBurnBytesPerSecond", "Growth of the retained log, in bytes per second."],
  slotEtaSeconds: ["Pipes_SlotEtaSeconds", "Seconds until the source invalidates the slot, at the current rate."],
  snapshotParts: ["Pipes_SnapshotParts", "Ranges that the initial copy consists of."],
  snapshotPartsDone: ["Pipes_SnapshotPartsDone", "Ranges of the initial copy that are durable."],
  snapshotRowsEstimated: ["Pipes_SnapshotRowsEstimated", "Rows of the tables, as estimated by the source."],
  snapshotSecondsLeft: [
    "Pipes_SnapshotSecondsLeft",
    "Seconds until the initial copy is complete, at the current rate.",
  ],
};

/** Gauges and counters per lane, reported as `name:lane`; the lane becomes a label. */
const laneGauges: Readonly<Record<string, readonly [name: string, label: string, help: string]>> = {
  lagMessages: ["Pipes_PartitionLagMessages", "partition", "Messages of one partition that are not yet loaded."],
  lagSeconds: [
    "Pipes_PartitionLagSeconds",
    "partition",
    "Age in seconds of the newest loaded message of a partition with lag.",
  ],
  tableRows: ["Pipes_TableSentEvents_Total", "table", "Rows of the source loaded into one of several tables."],
  insertedRows: ["Pipes_InsertedRows", "table", "Rows inserted at the source since the worker started."],
  updatedRows: ["Pipes_UpdatedRows", "table", "Rows updated at the source since the worker started."],
  deletedRows: ["Pipes_DeletedRows", "table", "Rows deleted at the source since the worker started."],
  millisBehindLatest: [
    "Pipes_MillisBehindLatest",
    "shard",
    "Distance of the read position from the end of a shard, in ms.",
  ],
};

/** Every metric of pipes, for the documentation. */
export const pipeMetrics: readonly { readonly name: string; readonly help: string; readonly label?: string }[] = [
  ...[...Object.values(counters), ...Object.values(gauges)].map(([name, help]) => ({ name, help })),
  ...Object.values(laneGauges).map(([name, label, help]) => ({ name, help, label })),
];

export async function pipeSamples(
  pipes: PipeStore,
  gaugesOf: (pipeId: string) => Readonly<Record<string, number>>,
): Promise<MetricSample[]> {
  const samples: MetricSample[] = [];
  for (const pipe of await pipes.listAll()) {
    const labels = { service: pipe.serviceId, pipe_id: pipe.id, pipe_name: pipe.name, pipe_source: pipe.sourceKind };
    samples.push(info(pipe, labels));
    const counted = await pipes.counters(pipe.id);
    add(samples, counters, labels, counted);
    const measured = gaugesOf(pipe.id);
    add(samples, gauges, labels, measured);
    for (const [key, value] of Object.entries({ ...counted, ...measured })) {
      const [name, lane] = splitOnce(key);
      const known = lane === undefined ? undefined : laneGauges[name];
      if (known === undefined || lane === undefined) continue;
      const [sample, label, help] = known;
      samples.push({ name: sample, help, labels: { ...labels, [label]: lane }, value });
    }
  }
  return samples;
}

export const leftoverMetric = {
  name: "Source_Leftovers",
  help: "What pipes that are gone have left at their sources, by kind; it is removed as soon as possible.",
};

export async function leftoverSamples(leftovers: LeftoverStore): Promise<MetricSample[]> {
  const counts = await leftovers.counts();
  return counts.map(({ organization, kind, count }) => ({
    ...leftoverMetric,
    labels: { organization, kind },
    value: count,
  }));
}

function splitOnce(key: string): [string, string | undefined] {
  const at = key.indexOf(":");
  return at < 0 ? [key, undefined] : [key.slice(0, at), key.slice(at + 1)];
}

function info(pipe: Pipe, labels: Readonly<Record<string, string>>): MetricSample {
  const help = "One per pipe; pipe_state is its state.";
  return { name: "Pipes_Info", help, labels: { ...labels, pipe_state: pipe.state }, value: 1 };
}

function add(
  samples: MetricSample[],
  names: Readonly<Record<string, readonly [string, string]>>,
  labels: Readonly<Record<string, string>>,
  values: Readonly<Record<string, number>>,
): void {
  for (const [key, [name, help]] of Object.entries(names)) {
    const value = values[key];
    if (value !== undefined) samples.push({ name, help, labels, value });
  }
}
