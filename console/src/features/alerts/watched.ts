/** What alerts name by id: saved searches, tiles of dashboards, webhooks. */
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import { chartOfSearch, chartOfTile } from "../../charts/watchable.ts";
import type { Alert } from "./alert.ts";
import { limitOptions, limitText } from "./states.ts";

export type SavedSearch = OperationResult<"listSavedSearches">["data"][number];
export type Dashboard = OperationResult<"listDashboards">["data"][number];
export type WatchedPipe = OperationResult<"listAllPipes">["pipes"][number];
export type WatchedService = OperationResult<"listServices">[number];
export type Webhook = OperationResult<"listWebhooks">["data"][number];

export type Known = {
  readonly searches: readonly SavedSearch[] | undefined;
  readonly dashboards: readonly Dashboard[] | undefined;
  readonly webhooks: readonly Webhook[] | undefined;
  readonly pipes: readonly WatchedPipe[] | undefined;
  readonly services: readonly WatchedService[] | undefined;
};

/** All of them, as far as they are loaded. */
export function useKnown(): Known {
  const searches = useOperation("listSavedSearches", { query: {} }, { pace: "slow" }).data?.data;
  const dashboards = useOperation("listDashboards", { query: {} }, { pace: "slow" }).data?.data;
  const webhooks = useOperation("listWebhooks", { query: {} }, { pace: "slow" }).data?.data;
  const pipes = useOperation("listAllPipes", { query: { limit: 1000 } }, { pace: "slow" }).data?.pipes;
  const services = useOperation("listServices", {}, { pace: "slow" }).data;
  return { searches, dashboards, webhooks, pipes, services };
}

export type Watched = {
  readonly kind: "saved search" | "tile" | "state";
  /** Undefined: it is not loaded, or does not exist any more. */
  readonly name: string | undefined;
  /** Undefined: the console cannot draw it. */
  readonly chart: ChartDefinition | undefined;
};

type Subject = Pick<
  Alert,
  "source" | "savedSearchId" | "groupBy" | "dashboardId" | "tileId" | "metric" | "serviceId" | "pipeId"
>;

/** What an alert watches. */
export function watchedBy(alert: Subject, known: Omit<Known, "webhooks">): Watched {
  const { searches, dashboards } = known;
  if (alert.source === "state" && alert.metric !== undefined) {
    const options = limitOptions(alert.metric, known);
    const name = options.find(({ value }) => value === limitText(alert))?.label;
    return { kind: "state", name, chart: undefined };
  }
  if (alert.source === "tile") {
    const dashboard = dashboards?.find(({ id }) => id === alert.dashboardId);
    const tile = dashboard?.tiles.find(({ id }) => id === alert.tileId);
    const name = tile && (tile.name === dashboard?.name ? tile.name : `${dashboard?.name} / ${tile.name}`);
    return { kind: "tile", name, chart: tile && chartOfTile(tile) };
  }
  const search = searches?.find(({ id }) => id === alert.savedSearchId);
  return { kind: "saved search", name: search?.name, chart: search && chartOfSearch(search, alert.groupBy) };
}

/** A saved search, or a dashboard with one tile, that one alert alone watches: both can go together. */
export type OwnSubject =
  | { readonly kind: "saved search"; readonly object: SavedSearch }
  | { readonly kind: "tile"; readonly object: Dashboard };

/** Undefined while anything else uses what the alert watches, or may use it. */
export function ownSubject(
  alert: Alert,
  alerts: readonly Alert[] | undefined,
  { searches, dashboards }: Pick<Known, "searches" | "dashboards">,
): OwnSubject | undefined {
  const isShared = ({ id, savedSearchId, dashboardId }: Alert) =>
    id !== alert.id &&
    (alert.source === "tile" ? dashboardId === alert.dashboardId : savedSearchId === alert.savedSearchId);
  if (alert.source === "state" || alerts === undefined || alerts.some(isShared)) return undefined;
  if (alert.source === "tile") {
    const object = dashboards?.find(({ id }) => id === alert.dashboardId);
    return object?.tiles.length === 1 ? { kind: "tile", object } : undefined;
  }
  const object = searches?.find(({ id }) => id === alert.savedSearchId);
  return object && { kind: "saved search", object };
}
