/** The table of `millrace top`. */
import type { OperationResult } from "../client/client.ts";
import type { PipeSummary, ServiceObject } from "../client/resolve.ts";
import { lagText } from "../commands/pipe-columns.ts";
import { type TableColumn, tableLines } from "../output/table.ts";
import { age, byteSize, count, decimal, stateStyle } from "../output/text.ts";

/** A process that runs one pipe or several. */
export type WorkerProcess = {
  readonly name: string;
  readonly pid: number;
  /** One id for each replica. */
  readonly pipes: readonly string[];
  readonly memoryBytes?: number;
  /** Share of a processor, 0 to 1. */
  readonly utilization: number;
};

export type TopView = {
  readonly pipes: readonly PipeSummary[];
  readonly services: readonly ServiceObject[];
  readonly engines: OperationResult<"getSystem">["engines"];
  readonly workers: readonly WorkerProcess[];
};

export const sortKeys = ["lag", "rows/s", "latency", "cpu", "memory", "errors", "name"] as const;
export type TopSortKey = (typeof sortKeys)[number];

export type TopLook = {
  readonly color: boolean;
  readonly width: number | undefined;
  readonly sort: TopSortKey;
  readonly filter: string;
  /** Id of the pipe that is marked. */
  readonly selected: string | undefined;
};

/** The processes of a pipe. */
export function processesOf({ workers }: TopView, pipe: PipeSummary): WorkerProcess[] {
  return workers.filter(({ pipes }) => pipes.includes(pipe.id));
}

/** The sum over all its processes; undefined when nothing is known. */
function total(processes: readonly WorkerProcess[], value: (process: WorkerProcess) => number | undefined) {
  const known = processes.map(value).filter((one) => one !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0);
}

const cpuOf = (view: TopView, pipe: PipeSummary) => total(processesOf(view, pipe), (one) => one.utilization);
const memoryOf = (view: TopView, pipe: PipeSummary) => total(processesOf(view, pipe), (one) => one.memoryBytes);

/** The pipes that the filter leaves, in the order of the sort key. */
export function shownPipes(view: TopView, { sort, filter }: Pick<TopLook, "sort" | "filter">): PipeSummary[] {
  const rank: Readonly<Record<TopSortKey, (pipe: PipeSummary) => number>> = {
    lag: ({ lag }) => lag?.seconds ?? (lag === undefined ? -1 : 0),
    "rows/s": ({ rates }) => rates?.rowsPerSecond ?? -1,
    latency: ({ latencySeconds }) => latencySeconds ?? -1,
    cpu: (pipe) => cpuOf(view, pipe) ?? -1,
    memory: (pipe) => memoryOf(view, pipe) ?? -1,
    errors: ({ errors }) => errors ?? 0,
    name: () => 0,
  };
  return view.pipes
    .filter(({ name, serviceName }) => `${serviceName}/${name}`.includes(filter))
    .toSorted((a, b) => rank[sort](b) - rank[sort](a) || a.name.localeCompare(b.name));
}

/** Totals, then pipes and services, with the sort key and the filter applied. */
export function topLines(view: TopView, { color, width, sort, filter, selected }: TopLook): string[] {
  const sum = (value: (pipe: PipeSummary) => number | undefined) =>
    view.pipes.reduce((all, pipe) => all + (value(pipe) ?? 0), 0);
  const rates = `${count(sum((pipe) => pipe.rates?.rowsPerSecond))} rows/s  ${byteSize(sum((pipe) => pipe.rates?.bytesPerSecond))}/s`;
  const look = { color, width, wide: true };
  const services = view.services.filter(({ name }) => name.includes(filter));
  return [
    `${view.pipes.length} pipes  ${rates}  sorted by ${sort}${filter === "" ? "" : `  filter ${filter}`}`,
    "",
    ...tableLines(shownPipes(view, { sort, filter }), fitting(pipeColumns(view, selected), view, width), look),
    "",
    ...tableLines(services, serviceColumns(view), look),
  ];
}

/** From this width on, all columns fit beside names of usual length. */
const wideFrom = 110;

/** On a narrow terminal, columns that the detail has too, and those without a value, leave their room to the names. */
function fitting(columns: TableColumn<PipeSummary>[], { workers }: TopView, width: number | undefined) {
  if (width === undefined || width >= wideFrom) return columns;
  const dropped = ["BYTES/S", "LAST SUCCESS", ...(workers.length === 0 ? ["CPU", "MEMORY"] : [])];
  return columns.filter(({ title }) => !dropped.includes(title));
}

function pipeColumns(view: TopView, selected: string | undefined): TableColumn<PipeSummary>[] {
  const mark = (id: string) => (selected === undefined ? "" : id === selected ? "> " : "  ");
  return [
    {
      title: `${selected === undefined ? "" : "  "}PIPE`,
      value: ({ id, serviceName, name }) => `${mark(id)}${serviceName}/${name}`,
      style: ({ id }) => (id === selected ? "bold" : undefined),
    },
    { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
    { title: "ROWS/S", value: ({ rates }) => count(rates?.rowsPerSecond), right: true },
    { title: "BYTES/S", value: ({ rates }) => byteSize(rates?.bytesPerSecond), right: true },
    { title: "LAG", value: lagText },
    { title: "LATENCY", value: ({ latencySeconds }) => decimal(latencySeconds, "s"), right: true },
    { title: "ERRORS", value: ({ errors }) => count(errors), right: true },
    { title: "CPU", value: (pipe) => decimal(cpuOf(view, pipe)), right: true },
    { title: "MEMORY", value: (pipe) => byteSize(memoryOf(view, pipe)), right: true },
    { title: "LAST SUCCESS", value: ({ lastSuccessAt }) => age(lastSuccessAt), right: true },
  ];
}

function serviceColumns({ engines }: TopView): TableColumn<ServiceObject>[] {
  const engineOf = ({ id }: ServiceObject) => engines.find(({ serviceId }) => serviceId === id);
  return [
    { title: "SERVICE", value: ({ name }) => name },
    { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
    { title: "PIPES", value: ({ pipes: { running, total: all } }) => `${running}/${all}`, right: true },
    { title: "ROWS", value: ({ rows }) => count(rows), right: true },
    { title: "DISK", value: ({ diskUsedBytes }) => byteSize(diskUsedBytes), right: true },
    { title: "CPU", value: (service) => decimal(engineOf(service)?.cpuCores), right: true },
    { title: "MEMORY", value: (service) => byteSize(engineOf(service)?.memoryBytes), right: true },
    { title: "LAST QUERY", value: ({ idle }) => age(idle.lastQueryAt), right: true },
  ];
}
