/** What is typed about an alert, and the request that follows from it. */
import type { CallInput } from "../../api/client.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import { chartOfSearch, chartOfTile, countsRows, tileRefusal } from "../../charts/watchable.ts";
import { type Alert, type Interval, isRange, type ThresholdType } from "./alert.ts";
import type { Known } from "./watched.ts";

type AlertBody = CallInput<"createAlert">["body"];

export type AlertForm = {
  readonly name: string;
  /** `chart` is that of the address; otherwise `search:ID` or `tile:DASHBOARD/TILE`. Empty: nothing is chosen. */
  readonly watches: string;
  readonly groupBy: string;
  readonly thresholdType: ThresholdType;
  readonly threshold: string;
  readonly thresholdMax: string;
  readonly interval: Interval;
  readonly windows: string;
  readonly webhookId: string;
  readonly message: string;
};

export const theChart = "chart";

/** The form of a new alert, of the chart if there is one. */
export function newForm(title: string | undefined, chart: ChartDefinition | undefined): AlertForm {
  return {
    name: title ?? "",
    watches: chart === undefined ? "" : theChart,
    groupBy: chart === undefined || !countsRows(chart) ? "" : chart.groupBy,
    thresholdType: "above",
    threshold: "",
    thresholdMax: "",
    interval: "5m",
    windows: "1",
    webhookId: "",
    message: "",
  };
}

/** The form of an alert that exists. */
export function formOf(alert: Alert): AlertForm {
  const { name = "", groupBy = "", thresholdType, threshold, thresholdMax, interval, channel, message = "" } = alert;
  return {
    ...{ name, groupBy, thresholdType, interval, message, webhookId: channel.webhookId },
    watches: alert.source === "tile" ? `tile:${alert.dashboardId}/${alert.tileId}` : `search:${alert.savedSearchId}`,
    threshold: String(threshold),
    thresholdMax: thresholdMax === undefined ? "" : String(thresholdMax),
    windows: String(alert.numConsecutiveWindows ?? 1),
  };
}

/** Why the form cannot be sent yet; undefined for a complete one. The server judges the rest. */
export function missingIn({ watches, webhookId }: AlertForm): string | undefined {
  if (watches === "") return "Choose what the alert watches first.";
  return webhookId === "" ? "Choose a webhook first." : undefined;
}

/** What an alert names as its subject. */
export type Subject =
  | { readonly source: "saved_search"; readonly savedSearchId: string }
  | { readonly source: "tile"; readonly dashboardId: string; readonly tileId: string };

/** The subject that is chosen among those that exist; undefined for the chart, and while nothing is chosen. */
export function subjectOf({ watches }: AlertForm): Subject | undefined {
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

/**
 * The request. Text that is no number is left out, so that the server says what it wants. An alert that exists keeps
 * what the form does not show.
 */
export function bodyOf(form: AlertForm, subject: Subject, before?: Alert): AlertBody {
  const { savedSearchId: _search, groupBy: _group, dashboardId: _dashboard, tileId: _tile, ...kept } = before ?? {};
  const text = (member: string, value: string) => ({ [member]: value.trim() === "" ? null : value.trim() });
  const grouped = subject.source === "saved_search" ? text("groupBy", form.groupBy) : {};
  return {
    ...kept,
    ...text("name", form.name),
    ...text("message", form.message),
    ...subject,
    ...grouped,
    threshold: numberOf(form.threshold),
    thresholdType: form.thresholdType,
    thresholdMax: isRange(form.thresholdType) ? (numberOf(form.thresholdMax) ?? null) : null,
    interval: form.interval,
    numConsecutiveWindows: numberOf(form.windows) ?? null,
    channel: { type: "webhook", webhookId: form.webhookId },
  } as AlertBody;
}

/** The number that is typed; undefined for other text. */
export function numberOf(text: string): number | undefined {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

export type SubjectOption = { readonly value: string; readonly label: string; readonly disabled?: boolean };

/** What can be watched; a tile that the server refuses is listed with the reason, and cannot be chosen. */
export function subjectOptions({ searches = [], dashboards = [] }: Known, title: string | undefined): SubjectOption[] {
  return [
    ...(title === undefined ? [] : [{ value: theChart, label: `The chart ${title}` }]),
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
  const tiles = dashboards?.find(({ id }) => id === subject?.dashboardId)?.tiles;
  const tile = tiles?.find(({ id }) => id === subject?.tileId);
  return tile && chartOfTile(tile);
}
