/** The tools of `millrace mcp`: what each is for, what it takes, and which operations it calls. */
import type { CliClient } from "../client/client.ts";
import { bodyText } from "../client/http.ts";
import { findPipe, listSummaries, pick, resolveService, resolveServiceOrOnly } from "../client/resolve.ts";
import { seriesBody } from "../commands/chart.ts";
import { readStatus } from "../commands/status.ts";
import { usageError } from "../errors.ts";
import { present } from "../flags.ts";
import { masked } from "../secrets.ts";

type Arguments = Readonly<Record<string, unknown>>;

export type Tool = {
  readonly name: string;
  readonly description: string;
  /** Names of arguments with their description; those that end with `?` are optional. */
  readonly takes: Readonly<Record<string, string>>;
  readonly writes?: true;
  readonly run: (client: CliClient, given: Arguments) => Promise<unknown>;
};

const text = (value: unknown) => (value === undefined ? undefined : String(value));
const required = (value: unknown) => String(value ?? "");
const service = { service: "Name or id of the service" };
const pipe = { pipe: "Name or id of the pipe, or SERVICE/PIPE" };

async function pipeParams(client: CliClient, given: Arguments) {
  const { id: pipeId, serviceId } = await findPipe(client, required(given.pipe));
  return { serviceId, pipeId };
}

async function serviceParams(client: CliClient, given: Arguments) {
  return { serviceId: (await resolveServiceOrOnly(client, text(given.service))).id };
}

/** Its parse error would quote the text, which may contain secrets. */
function objectOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
  try {
    const object: unknown = typeof value === "string" ? JSON.parse(value) : value;
    if (typeof object === "object" && object !== null && !Array.isArray(object))
      return object as Record<string, unknown>;
  } catch {
    throw usageError(`${name}: is not JSON`);
  }
  throw usageError(`${name}: must be a JSON object`);
}

/** Longest result of `query`, in rows. */
const maxRows = 1_000;

const readTools: readonly Tool[] = [
  {
    name: "overview",
    description: "Counts of services, pipes and backups by state, and what needs attention with the reason",
    takes: {},
    run: async (client) => await readStatus(client),
  },
  {
    name: "list_services",
    description: "Lists database services with state, disk use and last backup",
    takes: {},
    run: async (client) => await client.call("listServices", {}),
  },
  {
    name: "list_pipes",
    description: "Lists ingestion pipes with state, rates, lag, last success and last error",
    takes: {},
    run: async (client) => await listSummaries(client),
  },
  {
    name: "get_pipe",
    description: "Why a pipe is behind or has failed: its state, lag, last error, definition and counters",
    takes: pipe,
    run: async (client, given) => {
      const summary = await findPipe(client, required(given.pipe));
      const details = await client.call("getPipe", { params: { serviceId: summary.serviceId, pipeId: summary.id } });
      return { summary, details, remedy: remedyOf(summary.state) };
    },
  },
  {
    name: "pipe_errors",
    description: "Why a pipe refused rows, grouped by cause, each with an example",
    takes: pipe,
    run: async (client, given) => await client.call("listPipeErrors", { params: await pipeParams(client, given) }),
  },
  {
    name: "pipe_metrics",
    description: "Rates, lag and errors of a pipe over time; the last hour unless `from` and `to` (ISO 8601) are given",
    takes: { ...pipe, "from?": "Begin", "to?": "End" },
    run: async (client, given) => {
      const query = { from: text(given.from), to: text(given.to) };
      return await client.call("getPipeMetrics", { params: await pipeParams(client, given), query });
    },
  },
  {
    name: "events",
    description: "Who changed what, and changes of states with reasons, newest first",
    takes: { "service?": service.service, "from?": "Not before this ISO time" },
    run: async (client, given) => {
      const object =
        given.service === undefined ? undefined : (await resolveService(client, required(given.service))).id;
      return (await client.call("listActivities", { query: { object, from: text(given.from) } })).activities;
    },
  },
  {
    name: "list_tables",
    description: "Lists databases and tables of a service; does not wake it",
    takes: { "service?": service.service },
    run: async (client, given) =>
      await client.call("listTables", { params: await serviceParams(client, given), query: { columns: "true" } }),
  },
  {
    name: "describe_table",
    description: "Columns, keys, size and definition of a table; does not wake the service",
    takes: { "service?": service.service, database: "Database", table: "Table" },
    run: async (client, given) => {
      const { serviceId } = await serviceParams(client, given);
      const params = { serviceId, database: required(given.database), table: required(given.table) };
      return await client.call("getTable", { params });
    },
  },
  {
    name: "query",
    description: `Runs one reading statement in ClickHouse SQL: at most ${maxRows} rows and 10 seconds; wakes a sleeping service`,
    takes: { "service?": service.service, query: "The statement" },
    run: async (client, given) => {
      const settings = { max_result_rows: maxRows, result_overflow_mode: "break", max_execution_time: 10 };
      const body = { query: required(given.query), format: "JSON", readonly: true, settings };
      const response = await client.open("runQuery", { params: await serviceParams(client, given), body });
      return JSON.parse(await bodyText(response));
    },
  },
  {
    name: "chart",
    description:
      "A series of a source of charts over time, the last hour unless `since` is given; does not wake the service",
    takes: {
      source: "Name or id of the source",
      "agg?": "count (default), count_distinct, sum, avg, min, max, last_value, any, increase, or p50, p95, p99",
      "field?": "Column or SQL expression; not needed for count",
      "where?": "Filter in Lucene syntax",
      "group_by?": "Column or expression; the 10 groups with the greatest values",
      "since?": "Begin: 3h, 2d, or an ISO time",
      "until?": "End: now, 1h, or an ISO time",
      "step?": "Size of a bucket, such as 1m or 1h; default: by the range",
    },
    run: async (client, given) => {
      const { data: sources } = await client.call("listSources", {});
      const { id } = pick("source", required(given.source), sources);
      const series = {
        ...{ agg: text(given.agg) ?? "count", since: text(given.since) ?? "1h", until: text(given.until) ?? "now" },
        ...present({ field: text(given.field), where: text(given.where), step: text(given.step) }),
        ...(given.group_by === undefined ? {} : { groupBy: [required(given.group_by)], limit: "10" }),
      };
      const body = { ...seriesBody(id, series), wake: "never" };
      return (await client.call("queryChartSeries", { body: body as never })).data;
    },
  },
  {
    name: "list_backups",
    description: "Lists backups with status and verification, newest first",
    takes: {},
    run: async (client) => await client.call("listAllBackups", {}),
  },
];

const writeTools: readonly Tool[] = [
  {
    name: "pipe_command",
    description: "Starts or stops a pipe",
    takes: { ...pipe, command: "start or stop" },
    writes: true,
    run: async (client, given) => {
      const command = given.command === "stop" ? ("stop" as const) : ("start" as const);
      return await client.call("updatePipeState", { params: await pipeParams(client, given), body: { command } });
    },
  },
  {
    name: "service_command",
    description: "Starts, stops or wakes a service",
    takes: { ...service, command: "start, stop or awake" },
    writes: true,
    run: async (client, given) => {
      const { id: serviceId } = await resolveService(client, required(given.service));
      const command = required(given.command) as "start" | "stop" | "awake";
      return await client.call("updateServiceState", { params: { serviceId }, body: { command } });
    },
  },
  {
    name: "replay_errors",
    description: "Loads the refused rows of one group again, through the present definition of the pipe",
    takes: { ...pipe, group: "Id of the group, of pipe_errors" },
    writes: true,
    run: async (client, given) => {
      const body = { group: required(given.group) };
      return await client.call("replayPipeErrors", { params: await pipeParams(client, given), body });
    },
  },
  {
    name: "create_pipe",
    description:
      "Creates and starts an ingestion pipe. Without `confirm` it only makes the checks, and shows the request that would be sent",
    takes: {
      "service?": service.service,
      definition: "JSON: the body of createPipe, with name, source, destination and fieldMappings",
      "confirm?": "yes: the pipe is created",
    },
    writes: true,
    run: async (client, given) => {
      const [params, body] = [await serviceParams(client, given), objectOf("definition", given.definition)];
      if (given.confirm === "yes") return masked(await client.call("createPipe", { params, body: body as never }));
      const { checks } = await client.call("validatePipe", { params, body: body as never });
      const request = masked(await client.request("createPipe", { params, body }));
      return { created: false, checks, request, remedy: "If every check is ok, call again with confirm: yes." };
    },
  },
  {
    name: "backup_now",
    description: "Starts a backup of a service",
    takes: service,
    writes: true,
    run: async (client, given) => {
      const { id: serviceId } = await resolveService(client, required(given.service));
      return await client.call("createBackup", { params: { serviceId } });
    },
  },
];

/**
 * The tools: those that write only when it is allowed. None deletes, restores, or sees keys and passwords. Calls that
 * name no service are for `serviceId`, if it is given.
 */
export function toolsFor(writes: boolean, serviceId?: string): readonly Tool[] {
  const tools = writes ? [...readTools, ...writeTools] : readTools;
  return serviceId === undefined ? tools : tools.map((tool) => withService(tool, serviceId));
}

/** The tool with a service for calls that name none. */
function withService(tool: Tool, serviceId: string): Tool {
  const { service: described, ...takes } = { service: tool.takes["service?"], ...tool.takes };
  if (described === undefined) return tool;
  const run: Tool["run"] = async (client, given) => await tool.run(client, { service: serviceId, ...given });
  return { ...tool, takes: { ...takes, "service?": described }, run };
}

function remedyOf(state: string): string {
  switch (state) {
    case "Failed":
      return "Correct what lastError names, then start the pipe. pipe_errors shows refused rows by cause.";
    case "Degraded":
      return "The server tries again by itself. Check that the source answers, and what lastError names.";
    case "Stopped":
      return "Start the pipe.";
    default:
      return "If the lag grows, add replicas or look at pipe_metrics; otherwise there is nothing to do.";
  }
}
