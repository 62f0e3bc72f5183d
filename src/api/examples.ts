/** Example request bodies per operation: for the documentation and the OpenAPI document, and checked by a test. */
import { sourceDescriptions, sourceKindKeys } from "../sources/contract/descriptions.ts";

export type Example = {
  /** What it does, as a heading. */
  readonly title: string;
  readonly body: unknown;
};

const columns = [
  { name: "time", type: "DateTime64(3)" },
  { name: "user", type: "String" },
  { name: "amount", type: "Float64" },
];
const destination = {
  table: "events",
  columns,
  tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["user", "time"] },
};
/** A pipe of each kind. */
const pipes = sourceKindKeys.map((key) => {
  const { title, name, source, destination: own } = sourceDescriptions[key].example;
  return { title, body: { name, source: { [key]: source }, destination: own ?? destination } };
});
const firstPipe = pipes[0] as (typeof pipes)[number];

const sourceId = "00000000-0000-4000-8000-000000000000";
const savedSearch = {
  title: "Errors of a service",
  body: { name: "Errors", sourceId, where: "Service:web SeverityText:error", orderBy: "Timestamp DESC", tags: ["web"] },
};
const webhook = {
  title: "With a body of its own",
  body: {
    ...{ name: "Incidents", service: "generic", url: "https://alerts.example.com/events" },
    headers: { Authorization: "Bearer ..." },
    body: '{"summary": "{{title}}", "text": "{{body}}", "status": "{{state}}", "id": "{{eventId}}"}',
  },
};
const alert = {
  title: "More than 10 rows of a saved search in 5 minutes",
  body: {
    ...{ name: "Errors", savedSearchId: sourceId, groupBy: "Service" },
    ...{ threshold: 10, thresholdType: "above_exclusive", interval: "5m" },
    channel: { type: "webhook", webhookId: "00000000-0000-4000-8000-000000000000" },
  },
};
const dashboard = {
  title: "Errors by service",
  body: {
    name: "Errors",
    tiles: [
      {
        ...{ name: "Errors", x: 0, y: 0, w: 12, h: 4 },
        config: {
          ...{ displayType: "line", sourceId, groupBy: "Service" },
          select: [{ aggFn: "count", where: "SeverityText:error", whereLanguage: "lucene" }],
        },
      },
    ],
  },
};

export const requestExamples: Readonly<Record<string, readonly Example[]>> = {
  updateOrganization: [{ title: "Rename", body: { name: "Acme" } }],
  createKey: [
    { title: "A read-only key", body: { name: "grafana", roles: ["read_only"] } },
    {
      title: "A key that may only push to one pipe",
      body: {
        name: "web shop",
        roles: ["push"],
        pipeId: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        pushLimits: { rowsPerSecond: 1_000 },
      },
    },
  ],
  updateKey: [{ title: "Disable a key", body: { state: "disabled" } }],
  createAccessToken: [{ title: "A token for charts", body: { name: "dashboard" } }],
  updateAccessToken: [{ title: "Disable a token", body: { state: "disabled" } }],
  createSavedObject: [
    { title: "A query", body: { kind: "query", name: "Users", content: { query: "SELECT count() FROM users" } } },
  ],
  updateSavedObject: [{ title: "Rename", body: { version: 1, name: "All users" } }],
  runQuery: [
    {
      title: "With a parameter",
      body: { query: "SELECT count() FROM events WHERE user = {user:String}", params: { user: "ann" } },
    },
    {
      title: "At most 10,000 rows, without waking the service",
      body: {
        query: "SELECT * FROM events",
        format: "JSONCompactEachRowWithProgress",
        settings: { max_result_rows: 10_000, result_overflow_mode: "break" },
        wake: "never",
      },
    },
  ],
  updateCdcScaling: [{ title: "Two processors", body: { replicaCpuMillicores: 2_000, replicaMemoryGb: 8 } }],
  setQueryEndpoint: [
    {
      title: "One key that only reads",
      body: { roles: ["sql_console_read_only"], openApiKeys: ["3f2504e0-4f89-41d3-9a0c-0305e82c3301"] },
    },
  ],
  runAtQueryEndpoint: [{ title: "A query", body: { sql: "SELECT count() FROM events" } }],
  createService: [
    { title: "With defaults", body: { name: "Analytics" } },
    {
      title: "With a port, an access list and a memory limit",
      body: {
        name: "Analytics",
        port: 21_500,
        ipAccessList: [{ source: "10.0.0.0/8", description: "office" }],
        minReplicaMemoryGb: 4,
        maxReplicaMemoryGb: 8,
        idleTimeoutMinutes: 15,
      },
    },
    {
      title: "A ClickHouse server that exists",
      body: {
        name: "Warehouse",
        runtime: "external",
        connection: {
          urls: ["https://clickhouse.example.com:8443"],
          username: "millrace",
          password: "...",
          database: "analytics",
        },
      },
    },
  ],
  updateService: [
    {
      title: "Allow another network",
      body: { ipAccessList: { add: [{ source: "10.1.0.0/16", description: "vpn" }] } },
    },
    { title: "Move the endpoint to another port", body: { port: 21_501 } },
    { title: "A new password of an external server", body: { connection: { password: "..." } } },
  ],
  updateServiceState: [
    { title: "Stop", body: { command: "stop" } },
    { title: "Start", body: { command: "start" } },
  ],
  updateServiceScaling: [{ title: "More memory", body: { minReplicaMemoryGb: 8, maxReplicaMemoryGb: 16 } }],
  updateServicePassword: [{ title: "A generated password", body: {} }],
  planServiceMove: [
    {
      title: "A ClickHouse server that exists",
      body: {
        connection: { urls: ["https://clickhouse.example.com:8443"], username: "millrace", password: "..." },
      },
    },
  ],
  moveService: [
    {
      title: "A ClickHouse server that exists",
      body: {
        connection: { urls: ["https://clickhouse.example.com:8443"], username: "millrace", password: "..." },
      },
    },
  ],
  createServiceUser: [{ title: "A read-only user", body: { name: "analyst", readonly: true } }],
  createPipe: pipes,
  validatePipe: [{ ...firstPipe, title: "What creating this pipe would find" }],
  listSource: sourceKindKeys.map((key) => {
    const { example, listing } = sourceDescriptions[key];
    const { [listing.member]: _, ...source } = example.source as Readonly<Record<string, unknown>>;
    return { title: `What the source has: ${listing.of}`, body: { source: { [key]: source } } };
  }),
  discoverSchema: [{ title: "Fields of samples", body: { source: firstPipe.body.source } }],
  updatePipe: [{ title: "Rename", body: { name: "Orders of the shop" } }],
  updatePipeState: [
    { title: "Stop", body: { command: "stop" } },
    { title: "Start where it stopped", body: { command: "start" } },
  ],
  updatePipeScaling: [{ title: "Two workers", body: { replicas: 2 } }],
  updatePipeSettings: [{ title: "Reset a setting to its default", body: { streaming_max_insert_wait_ms: null } }],
  verifyBackup: [{ title: "With a trial restore", body: { deep: true } }],
  restoreBackup: [
    {
      title: "One table under another name",
      body: { database: "default", table: "events", targetDatabase: "default", targetTable: "events_restored" },
    },
  ],
  updateBackupConfiguration: [
    {
      title: "Daily at 03:30 UTC, kept for a week",
      body: { backupStartTime: "03:30", backupRetentionPeriodInHours: 168 },
    },
  ],
  replayPipeErrors: [
    {
      title: "What was refused on one day, after a fix of the definition",
      body: { from: "2026-05-01T00:00:00Z", to: "2026-05-02T00:00:00Z" },
    },
  ],
  planRestore: [
    {
      title: "One table, under another name",
      body: { database: "default", table: "orders", targetDatabase: "default", targetTable: "orders_of_monday" },
    },
  ],
  queryChart: [
    {
      title: "A table: the ten services with the most errors, and the others",
      body: {
        startTime: 1_714_557_600_000,
        endTime: 1_714_561_199_999,
        granularity: "none",
        orderBy: "series_0",
        limit: 10,
        others: true,
        series: [
          {
            sourceId: "00000000-0000-4000-8000-000000000000",
            aggFn: "count",
            where: "SeverityText:error",
            groupBy: ["Service"],
          },
        ],
      },
    },
  ],
  searchRows: [
    {
      title: "The newest errors of a service",
      body: {
        sourceId: "00000000-0000-4000-8000-000000000000",
        startTime: 1_714_557_600_000,
        endTime: 1_714_561_199_999,
        where: "Service:web SeverityText:error",
        select: "Timestamp, Body, ResourceAttributes['k8s.pod'] AS pod",
        limit: 50,
        wake: "never",
      },
    },
  ],
  queryChartSeries: [
    {
      title: "Requests and their 95th percentile, by half hour",
      body: {
        startTime: 1_714_557_600_000,
        endTime: 1_714_561_199_999,
        granularity: "30m",
        series: [
          {
            sourceId: "00000000-0000-4000-8000-000000000000",
            aggFn: "count",
            where: "Service:web",
            groupBy: ["Service"],
          },
          {
            sourceId: "00000000-0000-4000-8000-000000000000",
            aggFn: "quantile",
            level: 0.95,
            field: "Duration",
            where: "",
            groupBy: ["Service"],
          },
        ],
      },
    },
  ],
  createSavedSearch: [savedSearch],
  replaceSavedSearch: [savedSearch],
  createDashboard: [dashboard],
  validateDashboard: [dashboard],
  replaceDashboard: [dashboard],
  createWebhook: [
    webhook,
    {
      title: "Slack",
      body: { name: "Team", service: "slack", url: "https://hooks.slack.com/services/T000/B000/XXXX" },
    },
  ],
  replaceWebhook: [webhook],
  createAlert: [
    alert,
    {
      title: "A tile of a dashboard",
      body: {
        ...{ source: "tile", dashboardId: sourceId, tileId: sourceId, name: "Slow requests" },
        ...{ threshold: 2000, thresholdType: "above", interval: "15m", numConsecutiveWindows: 2 },
        channel: { type: "webhook", webhookId: "00000000-0000-4000-8000-000000000000" },
      },
    },
    {
      title: "Pipes that need attention",
      body: {
        ...{ source: "state", metric: "pipe_attention", name: "Pipes", threshold: 1, thresholdType: "above" },
        interval: "1m",
        channel: { type: "webhook", webhookId: "00000000-0000-4000-8000-000000000000" },
      },
    },
  ],
  replaceAlert: [alert],
  createConnection: [{ title: "Refused", body: { name: "local", host: "http://localhost:8123" } }],
  replaceConnection: [{ title: "Refused", body: { name: "local", host: "http://localhost:8123" } }],
  createSource: [
    {
      title: "A table of logs",
      body: {
        name: "logs",
        kind: "log",
        serviceId: "00000000-0000-4000-8000-000000000000",
        from: { databaseName: "default", tableName: "logs" },
        timestampValueExpression: "Timestamp",
        implicitColumnExpression: "Body",
      },
    },
  ],
  replaceSource: [
    {
      title: "Use another time column",
      body: {
        name: "logs",
        kind: "log",
        serviceId: "00000000-0000-4000-8000-000000000000",
        from: { databaseName: "default", tableName: "logs" },
        timestampValueExpression: "TimestampTime",
      },
    },
  ],
};
