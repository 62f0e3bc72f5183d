/** What is typed about an alert, and the request that follows from it. */
import type { StateMetric } from "../../../../src/api/alerts.ts";
import type { CallInput } from "../../api/client.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import { chartOfSearch, chartOfTile, countsRows, tileRefusal } from "../../charts/watchable.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import { type Alert, type Interval, isRange, type ThresholdType } from "./alert.ts";
import { limitOf, limitText, stateMetricOf, stateMetrics } from "./states.ts";
import type { Known } from "./watched.ts";

type AlertBody = CallInput<"createAlert">["body"];

export type AlertForm = {
  readonly name: string;
  /**
   * `chart` is that of the address; otherwise `search:ID`, `tile:DASHBOARD/TILE` or `state:METRIC`. Empty: nothing is
   * chosen.
   */
  readonly watches: string;
  /** What an alert of states is limited to: `pipe:ID`, `service:ID`, or empty for all. */
  readonly limit: string;
  readonly groupBy: string;
  readonly thresholdType: ThresholdType;
  readonly threshold: string;
  readonly thresholdMax: string;
  readonly interval: Interval;
  readonly windows: string;
  readonly noData: NonNullable<Alert["noData"]>;
  readonly webhookId: string;
  readonly message: string;
};

export const theChart = "chart";

/** What changes in the form when states are chosen: the condition that most people want of them. */
export function ofStates(metric: StateMetric, limit = "") {
  const { thresholdType, threshold } = stateMetrics[metric];
  return { watches: `state:${metric}`, limit, thresholdType, threshold, thresholdMax: "" };
}

/** The form after a change. The name that was proposed goes with what it was proposed for. */
export function changed(form: AlertForm, next: Partial<AlertForm>, proposed: string | undefined): AlertForm {
  const after = { ...form, ...next };
  const isSame = after.watches === form.watches && after.limit === form.limit;
  return isSame || after.name !== proposed ? after : { ...after, name: "" };
}

/** The metric of an alert of states. */
export function metricOf({ watches }: Pick<AlertForm, "watches">): StateMetric | undefined {
  return watches.startsWith("state:") ? stateMetricOf(watches.slice("state:".length)) : undefined;
}

/** The form of a new alert, of the chart if there is one. */
export function newForm(title: string | undefined, chart: ChartDefinition | undefined): AlertForm {
  return {
    name: title ?? "",
    watches: chart === undefined ? "" : theChart,
    limit: "",
    groupBy: chart === undefined || !countsRows(chart) ? "" : chart.groupBy,
    thresholdType: "above",
    threshold: "",
    thresholdMax: "",
    interval: "5m",
    windows: "1",
    noData: "keep",
    webhookId: "",
    message: "",
  };
}

/** The form of an alert that exists. */
export function formOf(alert: Alert): AlertForm {
  const { name = "", groupBy = "", thresholdType, threshold, thresholdMax, interval, channel, message = "" } = alert;
  return {
    ...{ name, groupBy, thresholdType, interval, message, webhookId: channel.webhookId },
    watches: watchesOf(alert),
    limit: limitText(alert),
    noData: alert.noData ?? "keep",
    threshold: String(threshold),
    thresholdMax: thresholdMax === undefined ? "" : String(thresholdMax),
    windows: String(alert.numConsecutiveWindows ?? 1),
  };
}

function watchesOf({ source, metric, dashboardId, tileId, savedSearchId }: Alert): string {
  if (source === "state") return `state:${metric}`;
  return source === "tile" ? `tile:${dashboardId}/${tileId}` : `search:${savedSearchId}`;
}

/** Why the form cannot be sent yet; undefined for a complete one. The server judges the rest. */
export function missingIn({ watches, webhookId }: AlertForm): string | undefined {
  if (watches === "") return "Choose what the alert watches first.";
  return webhookId === "" ? "Choose a webhook first." : undefined;
}

/** What an alert names as its subject. */
export type Subject =
  | { readonly source: "saved_search"; readonly savedSearchId: string }
  | { readonly source: "tile"; readonly dashboardId: string; readonly tileId: string }
  | ({ readonly source: "state"; readonly metric: StateMetric } & ReturnType<typeof limitOf>);

/** The subject that is chosen among those that exist; undefined for the chart, and while nothing is chosen. */
export function subjectOf({ watches, limit }: AlertForm): Subject | undefined {
  const metric = metricOf({ watches });
  if (metric !== undefined) return { source: "state", metric, ...limitOf(limit) };
  const [kind, rest = ""] = split(watches, ":");
  if (kind === "search") return { source: "saved_search", savedSearchId: rest };
  if (kind !== "tile") return undefined;
  const [dashboardId, tileId = ""] = split(rest, "/");
  return { source: "tile", dashboardId, tileId };
}

/** At the first separator: ids of tiles may contain any text. */
function split(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The request. An alert that exists keeps what the form does not show. */
export function bodyOf(form: AlertForm, subject: Subject, before?: Alert): AlertBody {
  const { savedSearchId: _search, groupBy: _group, dashboardId: _dashboard, tileId: _tile, ...others } = before ?? {};
  const { metric: _metric, serviceId: _service, pipeId: _pipe, ...kept } = others as Partial<Alert>;
  const text = (member: string, value: string) => ({ [member]: value.trim() === "" ? null : value.trim() });
  const grouped = subject.source === "saved_search" ? text("groupBy", form.groupBy) : {};
  return {
    ...kept,
    ...text("name", form.name),
    ...text("message", form.message),
    ...subject,
    ...grouped,
    threshold: typedNumber(form.threshold),
    thresholdType: form.thresholdType,
    thresholdMax: isRange(form.thresholdType) ? typedNumber(form.thresholdMax) : null,
    interval: form.interval,
    numConsecutiveWindows: form.windows.trim() === "" ? null : typedNumber(form.windows),
    noData: form.noData === "keep" ? null : form.noData,
    channel: { type: "webhook", webhookId: form.webhookId },
  } as AlertBody;
}

export type SubjectOption = { readonly value: string; readonly label: string; readonly disabled?: boolean };

/** What can be watched; a tile that the server refuses is listed with the reason, and cannot be chosen. */
export function subjectOptions({ searches = [], dashboards = [] }: Known, title: string | undefined): SubjectOption[] {
  return [
    ...(title === undefined ? [] : [{ value: theChart, label: `The chart ${title}` }]),
    ...Object.entries(stateMetrics).map(([metric, { label }]) => ({ value: `state:${metric}`, label })),
    ...searches.map(({ id, name }) => ({ value: `search:${id}`, label: `Saved search ${name}` })),
    ...dashboards.flatMap((dashboard) =>
      dashboard.tiles.map((tile) => {
        const refusal = tileRefusal(tile);
        const label = `Tile ${dashboard.name} / ${tile.name}`;
        const value = `tile:${dashboard.id}/${tile.id}`;
        return refusal === undefined
          ? { value, label }
          : { value, label: `${label}: not for ${refusal}`, disabled: true };
      }),
    ),
  ];
}

/** What the chosen subject looks like; undefined where the console cannot draw it. */
export function chosenChart(
  form: AlertForm,
  { searches, dashboards }: Known,
  chart: ChartDefinition | undefined,
): ChartDefinition | undefined {
  if (form.watches === theChart) {
    return chart && countsRows(chart) ? { ...chart, groupBy: form.groupBy } : chart;
  }
  const subject = subjectOf(form);
  if (subject?.source === "saved_search") {
    const search = searches?.find(({ id }) => id === subject.savedSearchId);
    return search && chartOfSearch(search, form.groupBy);
  }
  if (subject?.source !== "tile") return undefined;
  const tiles = dashboards?.find(({ id }) => id === subject.dashboardId)?.tiles;
  const tile = tiles?.find(({ id }) => id === subject.tileId);
  return tile && chartOfTile(tile);
}
