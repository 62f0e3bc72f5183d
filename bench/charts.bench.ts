/** Chart requests of five series over five million log rows, against HyperDX's planner on the same engine. */
import type { RequestInput } from "../harness/engine/chart-engine.ts";
import { chartRoom, startEngine } from "../harness/engine/chart-engine.ts";
import { type BenchResult, costOf, median, round } from "./bench.ts";
import { dayEndMs, dayStartMs, loadLogs } from "./chart-data.ts";
import { loadPeer, type PeerSeries, quietly } from "./hyperdx-peer.ts";

export const description = "five series over 5 M log rows; peer: @hyperdx/common-utils 0.1.0, one SQL per series";

const rows = Number(process.env.MILLRACE_BENCH_ROWS ?? 5_000_000);
const rounds = 7;

type Case = { readonly name: string; readonly series: readonly PeerSeries[] };

const field = "DurationMs";
const cases: readonly Case[] = [
  {
    name: "light counts",
    series: [
      "SeverityText:error",
      "SeverityText:warn",
      "StatusCode:>=500",
      'ServiceName:"service-1"',
      "DurationMs:>1000",
    ].map((where) => ({ aggFn: "count", where })),
  },
  {
    name: "five aggregates of one column",
    series: [
      { aggFn: "avg", where: "", field },
      { aggFn: "max", where: "", field },
      { aggFn: "min", where: "", field },
      { aggFn: "sum", where: "", field },
      { aggFn: "quantile", where: "", field, level: 0.95 },
    ],
  },
  {
    name: "map and text filters",
    series: [
      "Body:timeout",
      "payment",
      'LogAttributes.http.method:"POST"',
      "LogAttributes.region:region-3",
      '"cache miss" -SeverityText:"error"',
    ].map((where) => ({ aggFn: "count", where })),
  },
  {
    name: "high-cardinality groups",
    series: [
      { aggFn: "count", where: "", groupBy: "HostId" },
      { aggFn: "avg", where: "", field, groupBy: "HostId" },
      { aggFn: "max", where: "", field, groupBy: "HostId" },
      { aggFn: "sum", where: "", field, groupBy: "HostId" },
      { aggFn: "min", where: "", field, groupBy: "HostId" },
    ],
  },
];

export async function run(): Promise<BenchResult> {
  await using engine = await startEngine();
  await loadLogs(engine.client, rows);
  const peer = await loadPeer(engine.client, {
    database: "bench",
    table: "logs",
    timestamp: "Timestamp",
    body: "Body",
    sortingKey: "ServiceName, Timestamp",
  });
  const room = chartRoom(engine.client, {
    logs: {
      name: "logs",
      kind: "log",
      from: { databaseName: "bench", tableName: "logs" },
      timestampValueExpression: "Timestamp",
      implicitColumnExpression: "Body",
    },
  });
  const table = [];
  const ratios: Record<string, number> = {};
  const firstRatios: Record<string, number> = {};
  for (const one of cases) {
    const coarse = one.series[0]?.groupBy !== undefined;
    const ours: number[] = [];
    const first: number[] = [];
    const oneByOne: number[] = [];
    const atOnce: number[] = [];
    const cpu = { ours: [] as number[], peer: [] as number[] };
    for (let i = 0; i < rounds + 1; i += 1) {
      // Another range each time, so that no response comes from a cache. Blocks of columns may be cached, which the
      // peer's queries do not request: the first request after dropping them is measured beside the next one.
      const range = { startMs: dayStartMs, endMs: dayEndMs - 2 * i };
      const earlier = { startMs: dayStartMs, endMs: dayEndMs - 2 * i - 1 };
      await engine.client.command("SYSTEM DROP UNCOMPRESSED CACHE");
      const took = {
        first: await timed(() => room.outcome(requestOf(one, earlier, coarse))),
        ours: await costOf(() => room.outcome(requestOf(one, range, coarse))),
        oneByOne: await costOf(() => quietly(() => peer.run(peerRequest(one, range, coarse), false))),
        atOnce: await timed(() => quietly(() => peer.run(peerRequest(one, range, coarse), true))),
      };
      if (i === 0) continue;
      ours.push(took.ours.seconds * 1000);
      cpu.ours.push(took.ours.cpuSeconds);
      cpu.peer.push(took.oneByOne.cpuSeconds);
      first.push(took.first);
      oneByOne.push(took.oneByOne.seconds * 1000);
      atOnce.push(took.atOnce);
    }
    const peerMs = Math.min(median(oneByOne), median(atOnce));
    const ratio = round(peerMs / median(ours));
    ratios[one.name] = ratio;
    firstRatios[one.name] = round(peerMs / median(first));
    table.push({
      case: one.name,
      "ours ms": round(median(ours), 1),
      "ours ms, first": round(median(first), 1),
      "peer ms, one by one": round(median(oneByOne), 1),
      "peer ms, at once": round(median(atOnce), 1),
      ratio,
      "ratio, first": firstRatios[one.name] as number,
      "CPU ratio, one by one": round(median(cpu.peer) / median(cpu.ours)),
    });
    await compareAnswers(one, coarse, room, peer);
  }
  const named = (of: Record<string, number>, suffix: string) =>
    Object.fromEntries(Object.entries(of).map(([name, ratio]) => [name.replaceAll(/[ -]/g, "_") + suffix, ratio]));
  const summary = { ...named(ratios, ""), ...named(firstRatios, "_first") };
  return { rows: table, summary: { ratio: Math.min(...Object.values(ratios)), ...summary } };
}

type Range = { readonly startMs: number; readonly endMs: number };

function requestOf(one: Case, range: Range, coarse: boolean): RequestInput {
  return {
    startTime: range.startMs,
    endTime: range.endMs,
    granularity: coarse ? "1d" : "30m",
    series: one.series.map(({ groupBy, aggFn, ...rest }) => ({
      sourceId: "logs",
      aggFn: aggFn as "count",
      groupBy: groupBy === undefined ? [] : [groupBy],
      ...rest,
    })),
  };
}

function peerRequest(one: Case, range: Range, coarse: boolean) {
  return { ...range, granularity: coarse ? "1 day" : "30 minute", series: one.series };
}

async function timed(body: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await body();
  return performance.now() - start;
}

/** A fast answer must also be right: counts and extremes must be equal. */
async function compareAnswers(
  one: Case,
  coarse: boolean,
  room: ReturnType<typeof chartRoom>,
  peer: Awaited<ReturnType<typeof loadPeer>>,
): Promise<void> {
  const range = { startMs: dayStartMs, endMs: dayEndMs };
  const { data } = await room.guardQuery(requestOf(one, range, coarse));
  const theirs = await quietly(() => peer.run(peerRequest(one, range, coarse), false));
  const byKey = new Map(theirs.map((row) => [`${row.ts_bucket}|${row.group.join("|")}`, row]));
  for (const row of data) {
    const other = byKey.get(`${row.ts_bucket}|${row.group.join("|")}`);
    for (const [i, { aggFn }] of one.series.entries()) {
      const [a, b] = [Number(row[`series_${i}.data`]), Number(other?.[`series_${i}.data`] ?? 0)];
      const close = aggFn === "quantile" ? Math.abs(a - b) <= 0.1 * Math.abs(b) : Math.abs(a - b) <= 1e-9 * Math.abs(b);
      if (!close) throw new Error(`${one.name}: series ${i} of ${row.ts_bucket} is ${a}, the peer says ${b}`);
    }
  }
  if (data.length !== theirs.length) throw new Error(`${one.name}: ${data.length} rows, the peer has ${theirs.length}`);
}
