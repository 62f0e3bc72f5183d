import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { bytesText, countText, durationText, wordsOf } from "../../lib/format.ts";
import { Facts, Panel } from "../../parts/page.tsx";
import { byNumbers, type Column, Table, useSorted } from "../../parts/table.tsx";
import { isLong } from "./lag-text.tsx";
import type { PipeKind } from "./list-search.ts";

type Progress = Readonly<Record<string, number>>;

/** What is measured, in the order in which it is shown: of the pipe and of one lane. */
const words: Readonly<Record<string, string>> = {
  acceptedRows: "Rows accepted since the server started",
  fetchedRows: "Rows read",
  sentRows: "Rows loaded",
  refusedRows: "Rows refused",
  skippedRows: "Rows that are not meant for the table",
  fetchedBytes: "Bytes read",
  sentBytes: "Bytes loaded",
  latencyMs: "Age of the newest data when it was loaded",
  filesFound: "Objects found",
  filesLoaded: "Objects loaded",
  filesFailed: "Objects that failed",
  listMs: "Duration of the last listing",
  snapshotRowsEstimated: "Rows to copy, as the source estimates",
  snapshotParts: "Parts of the copy",
  snapshotPartsDone: "Parts of the copy that are loaded",
  snapshotSecondsLeft: "The copy is complete in",
  slotRetainedBytes: "Log that the source keeps for the pipe",
  slotBurnBytesPerSecond: "Growth of that log",
  slotSafeBytes: "Log until the source drops the slot",
  slotEtaSeconds: "Time until the source drops the slot",
  inboxBytes: "Disk of the inbox",
  inboxKeys: "Idempotency keys that the inbox remembers",
  rebalances: "Changes of the consumer group",
  commitErrors: "Commits to the consumer group that failed",
  lagMessages: "Messages behind",
  lagSeconds: "Behind",
  millisBehindLatest: "Behind",
};

/** What the tiles above say already. */
const inTiles = new Set([
  "errors",
  "lagMessages",
  "lagBytes",
  "lagSeconds",
  "etaSeconds",
  "filesPending",
  "bytesPending",
]);

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

/** A table of partitions or shards, and the numbers of the whole pipe; tables have a panel of their own. */
export function PipeProgress({ progress, kind }: { readonly progress: Progress; readonly kind: PipeKind }) {
  // A copy that is complete is of no interest any more.
  const isCopied = progress.snapshotParts === progress.snapshotPartsDone;
  const isSaid = (name: string) => inTiles.has(name) || (isCopied && name.startsWith("snapshot"));
  const names = Object.keys(progress).filter((name) => !name.includes(":") && !isSaid(name));
  const { lane: word }: { lane?: string } = sourceDescriptions[kind];
  return (
    <>
      {word !== undefined && <Lanes word={word} lanes={lanesOf(progress)} />}
      <Panel title="Numbers of the pipe">
        <Facts facts={inOrder(names).map((name) => [measureOf(name), textOf(name, progress[name] as number)])} />
      </Panel>
    </>
  );
}

function Lanes({ word, lanes }: { readonly word: string; readonly lanes: readonly Lane[] }) {
  const measures = inOrder([...new Set(lanes.flatMap(({ values }) => Object.keys(values)))]);
  const columns: readonly Column<Lane>[] = [
    { sort: "lane", header: word, cell: ({ name }) => <code>{name}</code> },
    ...measures.map((measure) => ({
      sort: measure,
      header: measureOf(measure),
      align: "end" as const,
      cell: ({ values }: Lane) => <Value measure={measure} value={values[measure]} />,
    })),
  ];
  const sorted = useSorted(lanes, ({ name, values }, key) => (key === "lane" ? name : values[key]));
  if (lanes.length === 0) return null;
  return (
    <Panel title={`${word}s`} flush>
      <Table tall label={`${word}s`} columns={columns} {...sorted} rowKey={({ name }) => name} />
    </Panel>
  );
}

function Value({ measure, value }: { readonly measure: string; readonly value: number | undefined }) {
  if (value === undefined) return "–";
  const seconds = measure === "lagSeconds" ? value : measure === "millisBehindLatest" ? value / 1000 : 0;
  if (!isLong(seconds)) return textOf(measure, value);
  return (
    <span className="toned" data-tone="warn">
      {textOf(measure, value)}
    </span>
  );
}

function inOrder(names: readonly string[]): string[] {
  const order = [...Object.keys(words), ...names];
  return names.toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
}

function measureOf(name: string): string {
  return words[name] ?? wordsOf(name);
}

function textOf(name: string, value: number): string {
  if (/bytes/i.test(name)) return `${bytesText(value)}${name.endsWith("PerSecond") ? "/s" : ""}`;
  if (/seconds(left)?$/i.test(name)) return durationText(value);
  if (/ms$|^millis/i.test(name)) return durationText(value / 1000);
  return countText(value);
}
