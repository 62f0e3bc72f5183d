/**
 * Alerts (observability API), in the form of the HyperDX API: a threshold for a saved search or a tile. An addition are
 * those of states, which watch services and pipes.
 */
import { z } from "zod";
import { numberText } from "../lib/number-text.ts";
import { thresholdTypes } from "./alert-condition.ts";
import {
  knownObject,
  nullableToo,
  operation,
  plainText,
  setByServer,
  shownName,
  timestamp,
  uuid,
  version,
} from "./operation.ts";
import { offsetMeta, offsetQuery, tags } from "./saved-searches.ts";

export const alertIntervals = ["1m", "5m", "15m", "30m", "1h", "6h", "12h", "1d"] as const;
export const alertStates = ["ALERT", "OK", "INSUFFICIENT_DATA", "DISABLED"] as const;

/** What alerts of states watch: a number for each pipe or service. */
export const stateMetrics = {
  pipe_attention: "1 for a pipe that needs attention, otherwise 0",
  pipe_lag_seconds: "how far the pipe is behind its source",
  pipe_refused_rows: "rows and objects that the pipe has refused since the evaluation before",
  service_attention: "1 for a service that needs attention, otherwise 0",
  backup_age_hours: "age of the newest backup that passed its check, or of the service while it has none",
  disk_free_percent: "what is free of the service's quota, or of the server's disk if that is less",
} as const;
export type StateMetric = keyof typeof stateMetrics;
const metricNames = Object.keys(stateMetrics) as [StateMetric, ...StateMetric[]];

const intervalMinutes: Readonly<Record<(typeof alertIntervals)[number], number>> = {
  ...{ "1m": 1, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "6h": 360, "12h": 720, "1d": 1440 },
};

/** The length of a window in ms. */
export function intervalMsOf(interval: (typeof alertIntervals)[number]): number {
  return intervalMinutes[interval] * 60_000;
}

const id = plainText(1, 100);

const channel = knownObject({ type: z.literal("webhook"), webhookId: id });

const members = {
  name: shownName(512).optional(),
  displayName: z.string().min(1).max(512).optional(),
  message: z.string().min(1).max(4096).optional().describe("Text of notifications"),
  note: z.string().min(1).max(4096).optional(),
  tags: tags.optional(),
  source: z
    .enum(["saved_search", "tile", "state"])
    .default("saved_search")
    .describe("state, for services and pipes, is an addition to the HyperDX API"),
  savedSearchId: id.optional().describe("The search whose rows are counted, with source saved_search"),
  groupBy: z
    .string()
    .max(10_000)
    .optional()
    .describe("A comma list of what rows are counted by, with source saved_search"),
  dashboardId: id.optional().describe("The dashboard of the tile, with source tile"),
  tileId: id.optional().describe("A tile of type line, stacked_bar or number, with source tile"),
  metric: z
    .enum(metricNames)
    .optional()
    .describe(
      `What is watched, with source state: ${Object.entries(stateMetrics)
        .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
        .join("; ")}`,
    ),
  serviceId: uuid.optional().describe("Only this service, or its pipes, with source state"),
  pipeId: uuid.optional().describe("Only this pipe, with source state and a metric of pipes"),
  noData: z
    .enum(["keep", "alert", "ok"])
    .optional()
    .describe("What a window without a value means. keep, the default: nothing, the state before it counts"),
  threshold: z.number(),
  thresholdType: z.enum(thresholdTypes).describe("above and between include the threshold, below does not"),
  thresholdMax: z.number().optional().describe("Upper end of between and not_between"),
  interval: z.enum(alertIntervals).describe("Length of a window, and time between two evaluations"),
  scheduleOffsetMinutes: z.int().min(0).max(1439).optional().describe("Minutes by which windows are shifted"),
  scheduleStartAt: timestamp.optional().describe("A time at which a window begins; none is evaluated before it"),
  numConsecutiveWindows: z.int().min(1).max(100).optional().describe("Windows in a row that must fulfil the condition"),
  channel,
  enabled: z.boolean().default(true).describe("false: it is not evaluated, and its state is DISABLED"),
};

/** Members that a source requires, and those that it has no use for. */
const membersOf = {
  saved_search: { own: ["savedSearchId"], other: ["dashboardId", "tileId", "metric", "serviceId", "pipeId"] },
  tile: { own: ["dashboardId", "tileId"], other: ["savedSearchId", "groupBy", "metric", "serviceId", "pipeId"] },
  state: { own: ["metric"], other: ["savedSearchId", "groupBy", "dashboardId", "tileId"] },
} as const;

const observed = z.unknown().optional();

export const alertBody = knownObject({
  ...nullableToo(members),
  channel: channel.nullish().describe("Either this or channels"),
  channels: z.array(channel).length(1).nullish().describe("The same as a list of one"),
  ...setByServer,
  // Observed members of a record that is sent back.
  ...{ state: observed, stateMessage: observed, stateChangedAt: observed, evaluatedUntil: observed },
  ...{ silenced: observed, executionErrors: observed, teamId: observed },
})
  .superRefine((given, context) => {
    const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    const [listed] = given.channels ?? [];
    if (given.channel == null && listed === undefined) fail("channel", "is required");
    // A record that is sent back has both.
    if (given.channel != null && listed !== undefined && given.channel.webhookId !== listed.webhookId) {
      fail("channels", "must be the same as channel");
    }
    const { own, other } = membersOf[given.source];
    for (const name of own) if (given[name] == null) fail(name, `is required for source ${given.source}`);
    for (const name of other) if (given[name] != null) fail(name, `is not for source ${given.source}`);
    if (given.pipeId != null && given.metric?.startsWith("pipe_") !== true) fail("pipeId", "is for metrics of pipes");
    const isBetween = given.thresholdType === "between" || given.thresholdType === "not_between";
    if (isBetween && given.thresholdMax == null) fail("thresholdMax", `is required for ${given.thresholdType}`);
    if (isBetween && given.thresholdMax != null && given.thresholdMax < given.threshold) {
      fail("thresholdMax", "must not be below threshold");
    }
    if (given.scheduleOffsetMinutes != null) {
      if (given.scheduleOffsetMinutes >= intervalMinutes[given.interval]) {
        fail("scheduleOffsetMinutes", "must be shorter than interval");
      }
      if (given.scheduleStartAt != null) fail("scheduleStartAt", "stands in place of scheduleOffsetMinutes");
    }
  })
  .meta({ id: "AlertRequest" });

const stored = z.object(members);

/** What is wanted of an alert. */
export type AlertDefinition = z.output<typeof stored>;

const alertError = z.object({
  timestamp,
  type: z.enum(["QUERY_ERROR", "WEBHOOK_ERROR", "INVALID_ALERT", "UNKNOWN"]),
  message: z.string(),
});
export type AlertError = z.output<typeof alertError>;

const record = stored
  .extend({
    channels: z.array(channel).describe("The channel as a list of one"),
    id: uuid,
    teamId: uuid.describe("Id of the organization"),
    state: z
      .enum(alertStates)
      .describe("INSUFFICIENT_DATA: not evaluated yet, the service does not run, or the last evaluation failed"),
    stateMessage: z.string().nullable().describe("Why, for INSUFFICIENT_DATA"),
    stateChangedAt: timestamp,
    evaluatedUntil: timestamp.nullable().describe("End of the last window that was evaluated"),
    silenced: z.null().describe("Alerts are not silenced; enabled false is what stops one"),
    executionErrors: z
      .array(alertError)
      .describe("Errors of the last evaluation, and of notifications that were not delivered"),
    version,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Alert" });

const reading = z.object({
  group: z.array(z.unknown()).describe("Values of groupBy; for state the name of the pipe or service"),
  series: z.int().min(0).describe("Index of the value in the tile"),
  value: z.number(),
  fires: z.boolean().describe("Whether it fulfils the condition"),
  reason: z.string().optional().describe("Why the pipe or service needs attention, with source state"),
});

const evaluation = z
  .object({
    windowStart: timestamp,
    windowEnd: timestamp,
    evaluatedAt: timestamp,
    state: z.enum(alertStates),
    message: z.string().nullable(),
    readings: z.array(reading).describe("At most 20, those that fire first"),
  })
  .meta({ id: "AlertEvaluation" });

export type AlertBody = z.output<typeof alertBody>;
export type AlertRecord = z.output<typeof record>;
export type AlertReading = z.output<typeof reading>;
export type AlertEvaluation = z.output<typeof evaluation>;

const root = "/api/v2/alerts";
const one = { path: `${root}/{alertId}`, params: z.object({ alertId: plainText(1, 100) }) };
const tag = "Alerts";
const data = z.object({ data: record });

export const alertOperations = {
  listAlerts: operation({
    ...{ method: "GET", storedOnly: true, path: root, tag, access: "read" },
    summary: "Lists alerts, oldest first",
    query: z.object(offsetQuery),
    result: z.object({ data: z.array(record), meta: offsetMeta }),
  }),
  createAlert: operation({
    ...{ method: "POST", path: root, tag, access: "developer" },
    summary: "Creates an alert of a saved search, a tile of a dashboard, or states of services and pipes",
    body: alertBody,
    result: data,
  }),
  getAlert: operation({
    ...{ method: "GET", storedOnly: true, ...one, tag, access: "read", summary: "Gets an alert with its state" },
    result: data,
  }),
  replaceAlert: operation({
    ...{ method: "PUT", versioned: true, ...one, tag, access: "developer" },
    summary: "Replaces an alert; its last window is evaluated again",
    body: alertBody,
    result: data,
  }),
  deleteAlert: operation({
    ...{ method: "DELETE", versioned: true, ...one, tag, access: "developer" },
    summary: "Deletes an alert with its evaluations and the notifications that were not delivered yet",
    result: z.object({}),
  }),
  listAlertEvaluations: operation({
    ...{ method: "GET", storedOnly: true, tag, access: "read", params: one.params, path: `${one.path}/evaluations` },
    summary: "Lists evaluations of an alert, newest first; the last 500 are kept",
    query: z.object({ limit: numberText(z.int().min(1).max(500)).default(100).describe("Maximum number") }),
    result: z.object({ data: z.array(evaluation) }),
  }),
};
