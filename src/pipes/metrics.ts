/** Pipes in the Prometheus text. Reads the store and what workers reported: never wakes anything. */
import type { Pipe, PipeStore } from "../store/pipes.ts";

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
};

/** Gauges that a source reports per lane, as `name.lane`: the lane becomes a label. */
const laneGauges: Readonly<Record<string, readonly [name: string, label: string, help: string]>> = {
  millisBehindLatest: ["Pipes_MillisBehindLatest", "shard", "How far reading of a shard is behind its end, in ms."],
};

export async function pipeSamples(
  pipes: PipeStore,
  gaugesOf: (pipeId: string) => Readonly<Record<string, number>>,
): Promise<PipeSample[]> {
  const samples: PipeSample[] = [];
  for (const pipe of await pipes.listAll()) {
    const labels = { service: pipe.serviceId, pipe_id: pipe.id, pipe_name: pipe.name, pipe_source: pipe.sourceKind };
    samples.push(info(pipe, labels));
    add(samples, counters, labels, await pipes.counters(pipe.id));
    const reported = gaugesOf(pipe.id);
    add(samples, gauges, labels, reported);
    addLanes(samples, labels, reported);
  }
  return samples;
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

function addLanes(
  samples: PipeSample[],
  labels: Readonly<Record<string, string>>,
  values: Readonly<Record<string, number>>,
): void {
  for (const [key, value] of Object.entries(values)) {
    const dot = key.indexOf(".");
    const found = dot < 0 ? undefined : laneGauges[key.slice(0, dot)];
    if (found === undefined) continue;
    const [name, label, help] = found;
    samples.push({ name, help, labels: { ...labels, [label]: key.slice(dot + 1) }, value });
  }
}
