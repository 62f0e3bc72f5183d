/** Samples of pipes for the metrics page: what is counted in the store, and what running workers report. */
import type { CounterName } from "../sources/source.ts";
import type { PipeStore } from "../store/pipes.ts";

type Sample = {
  readonly name: string;
  readonly help: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const counters: Partial<Record<CounterName, readonly [name: string, help: string]>> = {
  sentRows: ["Pipes_SentEvents_Total", "Rows inserted into the destination."],
  sentBytes: ["Pipes_SentBytes_Total", "Bytes written to the destination, uncompressed."],
  fetchedRows: ["Pipes_FetchedEvents_Total", "Records read from the source."],
  fetchedBytes: ["Pipes_FetchedBytes_Total", "Bytes read from the source."],
  filesLoaded: ["Pipes_LoadedFiles_Total", "Objects loaded."],
  filesFailed: ["Pipes_FailedFiles_Total", "Objects given up and recorded in the error table."],
  errors: ["Pipes_Errors_Total", "Records in the error table."],
};

export async function pipeSamples(
  pipes: PipeStore,
  gaugesOf: (pipeId: string) => Readonly<Record<string, number>>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const pipe of await pipes.listAll()) {
    const labels = { service: pipe.serviceId, pipe: pipe.id, pipe_name: pipe.name, pipe_source: pipe.sourceKind };
    samples.push({
      name: "Pipes_Info",
      help: "One per pipe; pipe_state is its state.",
      labels: { ...labels, pipe_state: pipe.state },
      value: 1,
    });
    const counted = await pipes.counters(pipe.id);
    for (const [counter, [name, help]] of Object.entries(counters)) {
      samples.push({ name, help, labels, value: counted[counter] ?? 0 });
    }
    for (const [gauge, value] of Object.entries(gaugesOf(pipe.id))) {
      const name = `Pipes_${gauge[0]?.toUpperCase()}${gauge.slice(1)}`;
      samples.push({ name, help: "Reported by the pipe's worker.", labels, value });
    }
  }
  return samples;
}
