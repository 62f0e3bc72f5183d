/** Every fetched row is sent, refused or skipped: in the API, in the metrics and in the error table. */
import { type BenchService, query, type Served } from "./serve.ts";

export type RowCounters = {
  readonly fetchedRows: number;
  readonly sentRows: number;
  readonly refusedRows: number;
  readonly skippedRows: number;
};

/** The counters of rows in a pipe's progress. Throws unless `fetchedRows = sentRows + refusedRows + skippedRows`. */
export function balanced(progress: Readonly<Record<string, number>>): RowCounters {
  const { fetchedRows = 0, sentRows = 0, refusedRows = 0, skippedRows = 0 } = progress;
  const counters = { fetchedRows, sentRows, refusedRows, skippedRows };
  if (fetchedRows !== sentRows + refusedRows + skippedRows) {
    throw new Error(`rows are not accounted for: ${JSON.stringify(counters)}`);
  }
  return counters;
}

/** Checks a pipe at rest: also in the metrics, and against the rows that the error table records. */
export async function assertAccounted(
  served: Served,
  service: BenchService,
  pipeId: string,
  expected: Partial<RowCounters>,
): Promise<void> {
  const { progress, errorTable } = await served.api.getPipe({ params: { ...service.params, pipeId } });
  const counters = balanced(progress);
  const metrics = await (await fetch(`${served.credentials.baseUrl}/metrics`)).text();
  const recorded = Number(await query(service, `SELECT sum(rows) FROM ${errorTable}`));
  const problems = Object.entries({ ...expected, refusedRows: expected.refusedRows ?? recorded })
    .filter(([name, value]) => counters[name as keyof RowCounters] !== value)
    .map(([name, value]) => `${name} is ${counters[name as keyof RowCounters]} instead of ${value}`);
  if (recorded !== counters.refusedRows) problems.push(`the error table has ${recorded} rows`);
  for (const [name, metric] of Object.entries(metricOf)) {
    const line = metrics.split("\n").find((text) => text.startsWith(`${metric}{`) && text.includes(pipeId));
    const value = Number(line?.split(" ").at(-1) ?? 0);
    if (value !== counters[name as keyof RowCounters]) problems.push(`${metric} is ${value}`);
  }
  if (problems.length > 0) {
    throw new Error(`not accounted for: ${problems.join(", ")}; ${JSON.stringify(progress)}`);
  }
}

const metricOf = {
  fetchedRows: "Pipes_FetchedEvents_Total",
  sentRows: "Pipes_SentEvents_Total",
  refusedRows: "Pipes_RefusedEvents_Total",
  skippedRows: "Pipes_SkippedEvents_Total",
} as const;
