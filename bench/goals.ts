/**
 * What every benchmark and every soak must reach on two cores, and why: `ok` of a run is computed from this table, by
 * `judge.ts`. A ratio compares two things that were measured in the same run. A goal for processor time (`cpu...`)
 * holds on a machine that is busy with other things; one for elapsed time needs a quiet one.
 */

export type Goal = {
  readonly field: string;
  readonly why: string;
  /** Reaches the goal too: a share of a program that only does what must be done, where that misses the bound. */
  readonly or?: { readonly field: string; readonly least: number };
} & ({ readonly least: number; readonly most?: never } | { readonly most: number; readonly least?: never });

const least = (field: string, bound: number, why: string): Goal => ({ field, least: bound, why });
const most = (field: string, bound: number, why: string): Goal => ({ field, most: bound, why });
const orOfLeast = (goal: Goal, field: string, bound: number): Goal => ({ ...goal, or: { field, least: bound } });

const pipeOfEngine =
  "the pipe reads, inserts and keeps its books while the engine without our proxy only does the first two";
const engineOfEngine = "the address policy costs a service's own s3() next to nothing";

const ofLeast = "Kafka's own consumer and the engine's INSERT side by side are the least that the machine has to do";

export const benchGoals: Readonly<Record<string, readonly Goal[]>> = {
  api: [
    least("cpuRatio", 0.75, "a bare server that answers the same bytes is the least that HTTP costs in Node"),
    most("cpuUs", 20, "processor time of an authenticated list that has not changed"),
    most("errors", 0, "every request is answered with 200"),
  ],
  "async-inserts": [
    least("cpuRatio", 6, "processor time of a row against an insert of its own, durable before the answer"),
    least("cpuRatioVisible", 6, "the same with clients that wait until the row is visible"),
    most("partsPerSecond", 8, "inserts wait for up to 200 ms, and for less at first"),
  ],
  backup: [
    orOfLeast(least("ratio", 0.5, "all that is stored is read back once: twice the work of cp"), "ofLeast", 0.9),
    least(
      "restoreRatio",
      0.5,
      "a new service starts and cp copies; what is restored is compared with the backup as well",
    ),
    most("incrementPerChangedByte", 1.2, "an increment holds what changed, and little more"),
  ],
  charts: [
    least("light_counts", 3, "five series are one pass over the data"),
    least("five_aggregates_of_one_column", 3, "five series are one pass over the data"),
    least("map_and_text_filters", 1.2, "the filters themselves are the work, with one query as with five"),
    least("high_cardinality_groups", 3, "five series are one pass over the data"),
  ],
  cli: [
    most("ratio", 6, "processor time of a command with one request, of `node -e 0`"),
    most("versionCpu", 0.1, "seconds of a processor: people wait for commands"),
    most("completionCpu", 0.15, "seconds of a processor at each press of the Tab key"),
    most("pipeListCpu", 0.3, "seconds of a processor of a command with one request"),
  ],
  console: [
    most("firstLoadScriptKb", 200, "kB with gzip before the first page is drawn"),
    most("firstLoadFiles", 6, "browsers open six connections"),
    most("firstLoadStyleKb", 15, "kB with gzip"),
    most("diskMb", 3, "with compressed copies, in the package"),
    most("sqlPageScriptKb", 130, "kB with gzip until a statement can be written"),
    most("interactiveMs", 400, "the overview shows its numbers, with an empty cache"),
    most("sqlMs", 600, "a statement can be written, with an empty cache"),
    most("exploreMs", 600, "rows are told, with an empty cache"),
    most("dashboardMs", 1_000, "four charts are drawn, with an empty cache"),
    most("longestTaskMs", 100, "of the main thread, until then"),
    most("loadWorkMs", 400, "ms of the main thread until then"),
    most("interactiveSlowMs", 1_500, "the same at a fourth of the speed"),
    most("routeChangeMs", 50, "a click changes the page at once"),
    most("pollMs", 1, "processor time of the server for an open list that has not changed"),
    most("fourChartsMs", 100, "ms of the main thread for a page with four charts"),
    most("gridFrameMs", 20, "ms of the main thread for a frame of 50 columns"),
    least("gridFps", 50, "scrolling is smooth"),
    most("largeCellMoveMs", 50, "ms of the main thread to move beside a cell of 2 MB"),
    most("largeCellOpenMs", 500, "ms of the main thread to open a cell of 2 MB"),
    most("filterPipesMs", 100, "ms of the main thread for a list of 1,000 pipes"),
    most("filterServicesMs", 100, "ms of the main thread for a list of 100 services"),
  ],
  gateway: [
    least("selectOfLeast", 0.95, "a front that only passes bytes on: no hop costs less in Node (record 0004)"),
    least("insertOfLeast", 1, "the same; the kernel moves inserts between two sockets"),
    most("tinyOverheadMs", 0.7, "login and judgement of a query that was seen before"),
    most("newTinyOverheadMs", 1.5, "the same of a query that was never seen before"),
  ],
  growth: [
    most("listGrowth", 1.5, "a list reads each pipe once"),
    most("startGrowth", 1.5, "the start reads each service once"),
    most("batchGrowth", 1.5, "a batch of one pipe does not depend on how many others there are"),
    most("chartGrowth", 1.5, "a chart reads each row once"),
    most("backupGrowth", 1.5, "a backup stores each part once"),
    most("listingGrowth", 1.5, "a listing looks at each object once"),
    most("readyEmptySeconds", 1, "from the installed package, with an empty data directory"),
    most("readyFullSeconds", 2, "from the installed package, with 1,000 services and 1,000 pipes"),
  ],
  native: [
    orOfLeast(most("tinyOverheadMs", 0.5, "judgement, seal and one hop"), "tinyOfLeast", 0.75),
    orOfLeast(
      most("smallInsertOverheadMs", 1, "the same, and a connection of its own, which is opened ahead"),
      "smallInsertOfLeast",
      0.75,
    ),
    orOfLeast(least("selectRatio", 0.75, "one hop more: record 0024 has the least of one in C"), "selectOfLeast", 0.95),
    orOfLeast(least("insertRatio", 0.9, "the same; the kernel moves the rows"), "insertOfLeast", 0.9),
    most("idleMb", 40, "1,000 connections that rest are data of the front"),
    most("idleConnections", 0, "and none of them holds a connection of the engine, with its thread"),
  ],
  "kafka-1600": [least("ofLeast", 0.95, ofLeast)],
  "kafka-client": [
    least("ratio", 3, "the reason to have a client of our own: messages per second of a processor"),
    least("loadRatio", 2, "and that its start costs less"),
  ],
  "kafka-small": [least("ofLeast", 0.9, ofLeast)],
  kinesis: [least("ratio", 0.9, "a bare loop of GetRecords, no faster than AWS allows, discards what it reads")],
  otlp: [least("visiblePerSecond", 30_000, "spans a second on two cores: durable, decoded, and in the table")],
  push: [
    orOfLeast(
      least("cpuRatio", 0.7, "a bare server appends and syncs the same bytes, and knows neither keys nor rows"),
      "cpuOfLeast",
      0.75,
    ),
    least("rowsPerSecond", 50_000, "in bodies of 100, durable before the answer"),
    most("p99HalfLoadMs", 50, "ms until rows are durable, at half of that"),
    most("partsPerSecond", 1, "1,000 clients that send one row a second make one part a second"),
  ],
  neighbour: [
    most("ratio", 2, "p99 of a small query while another service is at full load"),
    most("attackedRatio", 2, "p99 of a small query while another service is attacked as well"),
  ],
  "objects-json": [
    least("ratio", 1.1, pipeOfEngine),
    orOfLeast(least("policyRatio", 0.95, engineOfEngine), "policyOfLeast", 0.95),
    most("healthP99Ms", 50, "the control plane answers while a pipe reads a bucket"),
  ],
  "objects-parquet": [
    least("ratio", 1.15, pipeOfEngine),
    orOfLeast(least("policyRatio", 0.95, engineOfEngine), "policyOfLeast", 0.95),
    most("healthP99Ms", 50, "the control plane answers while a pipe reads a bucket"),
  ],
  "objects-small": [least("ratio", 0.6, "each of the 10,000 files has its own mark in the store")],
  operators: [
    most("ratio", 0.1, "a list that has not changed, of one that is made anew"),
    most("pollCpuMs", 1, "processor time of the control plane for a list of 100 pipes that has not changed"),
    most("share", 0.02, "of a core, for ten clients that look at all lists every two seconds"),
    most("historyBytes", 691_200, "the size of a history's file is fixed"),
  ],
  "pg-snapshot": [
    least("ofLeast", 0.9, "two COPY by psql whose bytes curl passes to a bare engine: record 0006 has the limit"),
  ],
  "pg-stream": [least("ratio", 1.4, "pg_recvlogical writes the same messages to /dev/null")],
  "pipes-1000": [
    most("runningSeconds", 60, "from the start of the server until 1,000 pipes run"),
    most("pssMb", 4_096, "a small machine carries them; pages that processes share count once"),
    most("idlePercent", 10, "of a core, of control plane and workers without data"),
    most("listMs", 100, "p95 of the lists of services and pipes meanwhile"),
  ],
  planes: [
    least("postgresPerSecond", 1_500, "confirmed batches of 64 pipes at a time"),
    most("stoppedRestP95Ms", 1_000, "the pipes of a process that is stopped are handed over"),
    most("killedP95Ms", 16_500, "the lease of 15 s has to end, and leases are looked at each second"),
  ],
  wake: [
    most("ratio", 20, "the first query of an idle service, of the next one"),
    most("p95Ms", 300, "the first query of a service that became idle lately"),
  ],
};

const shows = (field: string, why = "a run that has done nothing shows nothing"): Goal => least(field, 1, why);

const ordeal = [shows("server"), shows("engine"), shows("sleep")];

/** A broken guarantee ends a soak with an error. What is left to require is that it has tried. */
export const soakGoals: Readonly<Record<string, readonly Goal[]>> = {
  backup: [shows("backups"), shows("restores"), shows("rounds")],
  charts: [shows("charts")],
  cluster: [shows("rows")],
  definitions: [shows("stored"), shows("unloaded")],
  files: [
    shows("loaded"),
    shows("refused"),
    most("retried", 0, "a damaged file stays as it is: a pipe that waits for it waits in vain"),
    most("peakMb", 1_750, "an engine that may have 1 GB is ended by the kernel above that"),
  ],
  filters: [shows("accepted"), shows("refused")],
  guard: [shows("passed"), shows("ran"), shows("native"), shows("nativeRefused")],
  inserts: [shows("rows"), shows("unanswered"), ...ordeal],
  kafka: [shows("rows")],
  kinesis: [shows("rows")],
  move: [shows("rows"), shows("changes")],
  native: [shows("continued"), shows("ended"), shows("broken"), shows("silent"), shows("attacks"), shows("rows")],
  otlp: [shows("records"), shows("repeats"), shows("worker"), ...ordeal],
  push: [shows("rows"), shows("repeats"), shows("worker"), ...ordeal],
  "push-memory": [
    most(
      "controlPlaneGrowthMb",
      128,
      "more than a gigabyte passes; only the keys of requests stay, and garbage for a while",
    ),
    most("pushWorkerGrowthMb", 64, "a worker holds one batch"),
    most("otlpWorkerGrowthMb", 64, "and one block of each table"),
  ],
  objects: [shows("rows")],
  openapi: [shows("chartRequests"), shows("requests"), shows("deletions")],
  planes: [shows("holders"), shows("asked")],
  postgres: [shows("rows"), shows("transactions")],
  top: [shows("redrawn")],
};
