/** `millrace chart`: series of a source, drawn in the terminal. */
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import { choiceFlag, durationMs, integerFlag, momentMs, present, repeated } from "../flags.ts";
import { isForPeople } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { findSource } from "./source.ts";

const aggregates = [
  ...(["count", "count_distinct", "sum", "avg", "min", "max", "quantile", "last_value", "any", "increase"] as const),
];
const granularities = ["30s", "1m", "5m", "10m", "15m", "30m", "1h", "2h", "6h", "12h", "1d", "2d", "7d", "30d"];

type ChartFlags = SeriesFlags & { readonly source: string };

/** A series of a source: the flags of `chart`. */
export type SeriesFlags = {
  readonly agg: string;
  readonly field?: string;
  readonly where?: string;
  readonly sql?: boolean;
  readonly groupBy?: readonly string[];
  readonly since: string;
  readonly until: string;
  readonly step?: string;
  readonly limit?: string;
};

/** Adds the flags of `chart`. */
export function addChart(command: Command, shell: Shell): void {
  command
    .requiredOption("-s, --source <source>", "Source of the chart")
    .option("--agg <function>", `${aggregates.join(", ")}, or p50, p95, p99 ...`, "count")
    .option("--field <expression>", "Column or SQL expression; not needed for count")
    .option("--where <filter>", "Filter in Lucene syntax")
    .option("--sql", "The filter is SQL")
    .option("--group-by <expression>", "Column or expression; may be repeated", repeated)
    .option("--since <time>", "Begin: 3h, 2d, or an ISO time", "1h")
    .option("--until <time>", "End: now, 1h, or an ISO time", "now")
    .option("--step <size>", `Size of a bucket: ${granularities.join(", ")}; default: by the range`)
    .option("--limit <n>", "Most groups: those with the greatest values", "10")
    .action(async (flags: ChartFlags) => {
      const { id: sourceId } = await findSource(shell, flags.source);
      const body = seriesBody(sourceId, flags);
      if (!isForPeople(shell.format)) {
        const answer = await shell.call("queryChartSeries", { body: body as never });
        if (shell.format === "csv") return await shell.printOne(answer.data.map(flatRow), []);
        return await shell.printOne(shell.format === "ndjson" ? answer.data : answer, []);
      }
      const answer = await shell.call("queryChart", { body: body as never });
      const { chartLines } = await import("../chart.ts");
      const width = shell.io.stdout.isTTY === true ? (shell.io.stdout.columns ?? 80) : 80;
      const look = { width, color: shell.hasColor(shell.io.stdout) };
      const range = { from: body.startTime, to: body.endTime, bucketMs: answer.meta.bucketMs };
      const lines = chartLines(answer.data, look, range);
      if (lines.length === 0) return shell.say("There are no rows in this range.");
      await shell.draw(lines);
      if (answer.truncated === true) shell.say("Some groups are left out; --limit shows more.");
    });
}

/** The body of queryChartSeries. Throws a usage error that names the flag. */
export function seriesBody(sourceId: string, flags: SeriesFlags) {
  const percentile = /^p(\d{1,2}(?:\.\d+)?)$/.exec(flags.agg)?.[1];
  const aggFn = percentile === undefined ? choiceFlag("--agg", flags.agg, aggregates) : "quantile";
  if (aggFn !== "count" && flags.field === undefined) throw usageError(`--agg ${flags.agg} needs --field`);
  const now = Date.now();
  const item = present({
    sourceId,
    aggFn,
    field: flags.field,
    level: percentile === undefined ? undefined : Number(percentile) / 100,
    where: flags.where,
    whereLanguage: flags.sql === true ? "sql" : undefined,
    groupBy: flags.groupBy,
  });
  const startTime = momentMs(flags.since, "--since", now);
  const endTime = momentMs(flags.until, "--until", now);
  const limit = flags.groupBy === undefined ? undefined : integerFlag("--limit", flags.limit);
  return { series: [item], startTime, endTime, ...present({ granularity: stepOf(flags.step), limit }) };
}

function stepOf(step: string | undefined): string | undefined {
  if (step === undefined || granularities.includes(step)) return step;
  const ms = durationMs(step, "--step");
  const found = granularities.find((name) => durationMs(name, "--step") === ms);
  if (found === undefined) throw usageError(`--step ${step}: must be one of ${granularities.join(", ")}`);
  return found;
}

type ChartRow = Readonly<Record<string, unknown>> & { readonly ts_bucket: number; readonly group: readonly unknown[] };

function flatRow({ ts_bucket, group, "series_0.data": value }: ChartRow): object {
  const groups = group.map((one, i) => [`group_${i}`, one]);
  return { time: new Date(ts_bucket).toISOString(), ...Object.fromEntries(groups), value };
}
