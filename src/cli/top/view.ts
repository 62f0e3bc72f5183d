/** The lines of `millrace top`. */
import type { PipeSummary, ServiceObject } from "../client/resolve.ts";
import { lagText } from "../commands/pipe-columns.ts";
import { tableLines } from "../output/table.ts";
import { age, byteSize, count, stateStyle } from "../output/text.ts";

export type TopView = { readonly pipes: readonly PipeSummary[]; readonly services: readonly ServiceObject[] };

export const sortKeys = ["lag", "rows/s", "errors", "name"] as const;
export type TopSortKey = (typeof sortKeys)[number];

export type TopLook = {
  readonly color: boolean;
  readonly width: number | undefined;
  readonly sort: TopSortKey;
  readonly filter: string;
};

/** Totals, then pipes and services, with the sort key and the filter applied. */
export function topLines({ pipes, services }: TopView, { color, width, sort, filter }: TopLook): string[] {
  const rank: Readonly<Record<TopSortKey, (pipe: PipeSummary) => number>> = {
    lag: ({ lag }) => lag?.seconds ?? (lag === undefined ? -1 : 0),
    "rows/s": ({ rates }) => rates?.rowsPerSecond ?? -1,
    errors: ({ errors }) => errors ?? 0,
    name: () => 0,
  };
  const shown = pipes
    .filter(({ name, serviceName }) => `${serviceName}/${name}`.includes(filter))
    .toSorted((a, b) => rank[sort](b) - rank[sort](a) || a.name.localeCompare(b.name));
  const sum = (value: (pipe: PipeSummary) => number | undefined) =>
    pipes.reduce((total, pipe) => total + (value(pipe) ?? 0), 0);
  const look = { color, width, wide: true };
  return [
    `${pipes.length} pipes  ${count(sum(({ rates }) => rates?.rowsPerSecond))} rows/s  ${byteSize(sum(({ rates }) => rates?.bytesPerSecond))}/s  sorted by ${sort}${filter === "" ? "" : `  filter ${filter}`}`,
    "",
    ...tableLines(
      shown,
      [
        { title: "PIPE", value: ({ serviceName, name }) => `${serviceName}/${name}` },
        { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
        { title: "ROWS/S", value: ({ rates }) => count(rates?.rowsPerSecond), right: true },
        { title: "BYTES/S", value: ({ rates }) => byteSize(rates?.bytesPerSecond), right: true },
        { title: "LAG", value: lagText },
        { title: "ERRORS", value: ({ errors }) => count(errors), right: true },
        { title: "LAST SUCCESS", value: ({ lastSuccessAt }) => age(lastSuccessAt), right: true },
      ],
      look,
    ),
    "",
    ...tableLines(
      services.filter(({ name }) => name.includes(filter)),
      [
        { title: "SERVICE", value: ({ name }) => name },
        { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
        { title: "PIPES", value: ({ pipes: { running, total } }) => `${running}/${total}`, right: true },
        { title: "ROWS", value: ({ rows }) => count(rows), right: true },
        { title: "DISK", value: ({ diskUsedBytes }) => byteSize(diskUsedBytes), right: true },
        { title: "LAST QUERY", value: ({ idle }) => age(idle.lastQueryAt), right: true },
      ],
      look,
    ),
  ];
}
