import { bytesText, capitalized, countText, durationText } from "../../lib/format.ts";
import { Facts, Panel } from "../../parts/page.tsx";
import { byNumbers, type Column, Table, useSorted } from "../../parts/table.tsx";
import type { PipeKind } from "./list-search.ts";

type Progress = Readonly<Record<string, number>>;

const laneWords: Readonly<Record<PipeKind, string>> = {
  messageBroker: "Partition",
  managedStream: "Shard",
  relationalDb: "Table",
  objectStorage: "Part",
  push: "Part",
};

type Lane = { readonly name: string; readonly values: Progress };

/** Gauges that are reported as `name:lane`, by lane. */
export function lanesOf(progress: Progress): Lane[] {
  const lanes = new Map<string, Record<string, number>>();
  for (const [key, value] of Object.entries(progress)) {
    const at = key.indexOf(":");
    if (at === -1) continue;
    const name = key.slice(at + 1);
    lanes.set(name, { ...lanes.get(name), [key.slice(0, at)]: value });
  }
  return [...lanes].map(([name, values]) => ({ name, values })).sort((a, b) => byNumbers.compare(a.name, b.name));
}

/** Counters and gauges of the pipe: a table of partitions, shards or tables, then those of the whole. */
export function PipeProgress({ progress, kind }: { readonly progress: Progress; readonly kind: PipeKind }) {
  const names = Object.keys(progress)
    .filter((name) => !name.includes(":"))
    .toSorted();
  const lanes = lanesOf(progress);
  const measures = [...new Set(lanes.flatMap(({ values }) => Object.keys(values)))];
  const columns: readonly Column<Lane>[] = [
    { key: "lane", header: laneWords[kind], sortable: true, cell: ({ name }) => <code>{name}</code> },
    ...measures.map((measure) => ({
      key: measure,
      header: measureOf(measure),
      align: "end" as const,
      sortable: true,
      cell: ({ values }: Lane) => (values[measure] === undefined ? "–" : textOf(measure, values[measure])),
    })),
  ];
  const sorted = useSorted(lanes, ({ name, values }, key) => (key === "lane" ? name : values[key]));
  return (
    <>
      {lanes.length > 0 && (
        <Panel title={`${laneWords[kind]}s`} flush>
          <Table tall label={`${laneWords[kind]}s`} columns={columns} {...sorted} rowKey={({ name }) => name} />
        </Panel>
      )}
      <Panel title="Counters">
        <Facts facts={names.map((name) => [measureOf(name), textOf(name, progress[name] as number)])} />
      </Panel>
    </>
  );
}

/** Without the unit of a time, which the value has. */
function measureOf(name: string): string {
  return wordsOf(name.replace(/^millis|Seconds|Ms$/, ""));
}

/** `fetchedRows` as `Fetched rows`. */
export function wordsOf(name: string): string {
  return capitalized(name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase());
}

function textOf(name: string, value: number): string {
  if (/bytes/i.test(name)) return bytesText(value);
  if (/seconds(left)?$/i.test(name)) return durationText(value);
  if (/ms$|milliseconds$|^millis/i.test(name)) return durationText(value / 1000);
  return countText(value);
}
