/** The Grafana dashboard: rows of panels over the metrics that `/metrics` returns. */

type Panel = {
  readonly title: string;
  readonly unit: string;
  readonly queries: readonly (readonly [promql: string, legend: string])[];
  /** One number instead of a line over time. */
  readonly stat?: true;
};

const service = "{{service}}";
const pipe = "{{pipe_name}}";
const rate = (metric: string) => `rate(${metric}[$__rate_interval])`;

const rows: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    "Overview",
    [
      { title: "Services running", unit: "none", stat: true, queries: [["sum(Service_Running)", ""]] },
      {
        title: "Pipes by state",
        unit: "none",
        stat: true,
        queries: [["count by (pipe_state) (Pipes_Info)", "{{pipe_state}}"]],
      },
      { title: "Failing loops", unit: "none", stat: true, queries: [["sum(Loop_ConsecutiveFailures > bool 0)", ""]] },
      { title: "Left at sources", unit: "none", stat: true, queries: [["sum(Source_Leftovers) or vector(0)", ""]] },
    ],
  ],
  [
    "Services",
    [
      { title: "Queries", unit: "reqps", queries: [[rate("Service_Queries_Total"), service]] },
      { title: "Failed queries", unit: "reqps", queries: [[rate("Service_FailedQueries_Total"), service]] },
      {
        title: "Mean latency of queries",
        unit: "s",
        queries: [[`${rate("Service_QueryTime_Seconds_Total")} / ${rate("Service_Queries_Total")}`, service]],
      },
      { title: "Memory", unit: "bytes", queries: [["Service_Memory_Bytes", service]] },
      { title: "Processor time", unit: "s", queries: [[rate("Service_CpuTime_Seconds_Total"), service]] },
      { title: "Disk", unit: "bytes", queries: [["Service_DiskUsed_Bytes", service]] },
      { title: "Rows inserted", unit: "rowsps", queries: [[rate("Service_InsertedRows_Total"), service]] },
      {
        title: "Largest tables",
        unit: "bytes",
        queries: [["topk(10, Service_Table_Bytes)", "{{database}}.{{table}}"]],
      },
      { title: "Most parts", unit: "none", queries: [["topk(10, Service_Table_Parts)", "{{database}}.{{table}}"]] },
    ],
  ],
  [
    "Pipes",
    [
      { title: "Rows loaded", unit: "rowsps", queries: [[rate("Pipes_SentEvents_Total"), pipe]] },
      { title: "Bytes read", unit: "Bps", queries: [[rate("Pipes_FetchedBytes_Total"), pipe]] },
      { title: "Rows and objects not loaded", unit: "rowsps", queries: [[rate("Pipes_Errors_Total"), pipe]] },
      { title: "Age of the newest data", unit: "ms", queries: [["Pipes_Latency", pipe]] },
    ],
  ],
  [
    "Pipes: Kafka and Kinesis",
    [
      { title: "Messages behind", unit: "none", queries: [["Pipes_LagMessages", pipe]] },
      {
        title: "Partitions furthest behind",
        unit: "s",
        queries: [["topk(10, Pipes_PartitionLagSeconds)", `${pipe} {{partition}}`]],
      },
      {
        title: "Shards furthest behind",
        unit: "ms",
        queries: [["topk(10, Pipes_MillisBehindLatest)", `${pipe} {{shard}}`]],
      },
      { title: "Rebalances", unit: "none", queries: [["Pipes_Rebalances", pipe]] },
    ],
  ],
  [
    "Pipes: object storage",
    [
      { title: "Objects waiting", unit: "none", queries: [["Pipes_FilesPending", pipe]] },
      { title: "Bytes waiting", unit: "bytes", queries: [["Pipes_BytesPending", pipe]] },
      { title: "Duration of a listing", unit: "ms", queries: [["Pipes_ListDuration", pipe]] },
    ],
  ],
  [
    "Pipes: Postgres",
    [
      { title: "Bytes behind", unit: "bytes", queries: [["Pipes_SourceLagBytes", pipe]] },
      { title: "Log retained for slots", unit: "bytes", queries: [["Pipes_SlotRetainedBytes", pipe]] },
      { title: "Time until a slot is lost", unit: "s", queries: [["Pipes_SlotEtaSeconds", pipe]] },
      {
        title: "Initial copy",
        unit: "percentunit",
        queries: [["Pipes_SnapshotPartsDone / Pipes_SnapshotParts", pipe]],
      },
    ],
  ],
  [
    "Backups",
    [
      { title: "Stored", unit: "bytes", queries: [["Backup_Stored_Bytes", service]] },
      {
        title: "Age of the newest verified backup",
        unit: "s",
        queries: [["time() - (Backup_LastVerified_Timestamp > 0)", service]],
      },
      { title: "Failed or damaged", unit: "none", queries: [["Backup_Failed + Backup_Verification_Failed", service]] },
    ],
  ],
];

const perLine = { stat: 4, timeseries: 3 };
const columns = 24;

/** The content of the dashboard file, for import into Grafana 10 and later. */
export function grafanaDashboard(): string {
  const panels: object[] = [];
  let id = 1;
  let y = 0;
  for (const [title, entries] of rows) {
    panels.push({ id: id++, type: "row", title, collapsed: false, gridPos: { x: 0, y, w: columns, h: 1 } });
    y += 1;
    const type = entries.every(({ stat }) => stat) ? "stat" : "timeseries";
    const [w, h] = [columns / perLine[type], type === "stat" ? 4 : 8];
    for (const [i, panel] of entries.entries()) {
      const gridPos = { x: (i % perLine[type]) * w, y: y + Math.floor(i / perLine[type]) * h, w, h };
      panels.push({ id: id++, type, ...panelOf(panel), gridPos });
    }
    y += Math.ceil(entries.length / perLine[type]) * h;
  }
  const dashboard = {
    title: "Millrace",
    uid: "millrace",
    tags: ["millrace"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: {
      list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function panelOf({ title, unit, queries }: Panel): object {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own placeholder.
  const datasource = { type: "prometheus", uid: "${datasource}" };
  return {
    title,
    datasource,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
    targets: queries.map(([expr, legendFormat], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource,
      expr,
      legendFormat,
    })),
  };
}
