/** Metrics of pipes for Prometheus. Reads the store and worker reports: never wakes a service. */
import type { Pipe, PipeStore } from "../../store/pipes.ts";

export type PipeSample = {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const counters: Readonly<Record<string, readonly [name: string, help: string]>> = {
  fetchedRows: ["Pipes_FetchedEvents_Total", "Rows read from the source."],
  sentRows: ["Pipes_SentEvents_Total", "Rows written to the destination."],
  fetchedBytes: ["Pipes_FetchedBytes_Total", "Bytes read from the source, as stored there."],
  sentBytes: ["Pipes_SentBytes_Total", "Bytes written to the destination, uncompressed."],
  errors: ["Pipes_Errors_Total", "Rows and objects that could not be loaded."],
  filesLoaded: ["Pipes_FilesLoaded_Total", "Objects loaded."],
  filesFailed: ["Pipes_FilesFailed_Total", "Objects given up."],
};

const gauges: Readonly<Record<string, readonly [name: string, help: string]>> = {
  latencyMs: ["Pipes_Latency", "Age of the newest data when it was loaded, in ms."],
  filesPending: ["Pipes_FilesPending", "Objects found and not yet loaded."],
  bytesPending: ["Pipes_BytesPending", "Bytes of the objects found and not yet loaded."],
  listMs: ["Pipes_ListDuration", "Duration of the last LIST call, in ms."],
  commitErrors: ["Pipes_CommitErrors", "Commits of the consumer group's offsets that failed since the worker started."],
  rebalances: ["Pipes_Rebalances", "Times that a worker joined its consumer group or the group's members changed."],
  lagMessages: ["Pipes_LagMessages", "Messages at the source that are not yet loaded."],
  lagBytes: ["Pipes_SourceLagBytes", "Log of the source behind the last position that is durable."],
  lagSeconds: ["Pipes_SourceLagSeconds", "Age of the newest transaction received, while it is not durable."],
  slotRetainedBytes: ["Pipes_SlotRetainedBytes", "Log that the source keeps for the slot."],
  slotSafeBytes: ["Pipes_SlotSafeBytes", "Log that may be written before the source gives the slot up."],
  slotBurnBytesPerSecond: ["Pipes_SlotBurnBytesPerSecond", "Growth of the log kept for the slot."],
  slotEtaSeconds: ["Pipes_SlotEtaSeconds", "Time until the source gives the slot up, at the present rate."],
  snapshotParts: ["Pipes_SnapshotParts", "Parts that the tables are copied in."],
  snapshotPartsDone: ["Pipes_SnapshotPartsDone", "Parts of the tables that are durable."],
  snapshotRowsEstimated: ["Pipes_SnapshotRowsEstimated", "Rows of the tables, as the source estimates them."],
  snapshotSecondsLeft: ["Pipes_SnapshotSecondsLeft", "Time that the copy will take still, at its present rate."],
};

/** Gauges per lane, reported as `name:lane`; the lane becomes a label. */
const laneGauges: Readonly<Record<string, readonly [name: string, label: string, help: string]>> = {
  lagMessages: ["Pipes_PartitionLagMessages", "partition", "Messages of one partition that are not yet loaded."],
  lagSeconds: ["Pipes_PartitionLagSeconds", "partition", "Age of the newest loaded message of one that is behind."],
  insertedRows: ["Pipes_InsertedRows", "table", "Rows inserted at the source, since the worker started."],
  updatedRows: ["Pipes_UpdatedRows", "table", "Rows updated at the source, since the worker started."],
  deletedRows: ["Pipes_DeletedRows", "table", "Rows deleted at the source, since the worker started."],
  millisBehindLatest: ["Pipes_MillisBehindLatest", "shard", "How far reading of a shard is behind its end, in ms."],
};

/** Every metric of pipes, for the documentation. */
export const pipeMetrics: readonly { readonly name: string; readonly help: string; readonly label?: string }[] = [
  ...[...Object.values(counters), ...Object.values(gauges)].map(([name, help]) => ({ name, help })),
  ...Object.values(laneGauges).map(([name, label, help]) => ({ name, help, label })),
];

export async function pipeSamples(
  pipes: PipeStore,
  gaugesOf: (pipeId: string) => Readonly<Record<string, number>>,
): Promise<PipeSample[]> {
  const samples: PipeSample[] = [];
  for (const pipe of await pipes.listAll()) {
    const labels = { service: pipe.serviceId, pipe_id: pipe.id, pipe_name: pipe.name, pipe_source: pipe.sourceKind };
    samples.push(info(pipe, labels));
    add(samples, counters, labels, await pipes.counters(pipe.id));
    const measured = gaugesOf(pipe.id);
    add(samples, gauges, labels, measured);
    for (const [key, value] of Object.entries(measured)) {
      const [name, lane] = splitOnce(key);
      const known = lane === undefined ? undefined : laneGauges[name];
      if (known === undefined || lane === undefined) continue;
      const [sample, label, help] = known;
      samples.push({ name: sample, help, labels: { ...labels, [label]: lane }, value });
    }
  }
  return samples;
}

function splitOnce(key: string): [string, string | undefined] {
  const at = key.indexOf(":");
  return at < 0 ? [key, undefined] : [key.slice(0, at), key.slice(at + 1)];
}

function info(pipe: Pipe, labels: Readonly<Record<string, string>>): PipeSample {
  const help = "One per pipe; pipe_state is its state.";
  return { name: "Pipes_Info", help, labels: { ...labels, pipe_state: pipe.state }, value: 1 };
}

function add(
  samples: PipeSample[],
  names: Readonly<Record<string, readonly [string, string]>>,
  labels: Readonly<Record<string, string>>,
  values: Readonly<Record<string, number>>,
): void {
  for (const [key, [name, help]] of Object.entries(names)) {
    const value = values[key];
    if (value !== undefined) samples.push({ name, help, labels, value });
  }
}
