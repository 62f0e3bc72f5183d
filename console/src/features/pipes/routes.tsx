import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { oneOf, textsOf } from "../../lib/search.ts";
import { listSearch } from "./list-search.ts";

const pipesRoute = createRoute({
  ...screen(rootRoute, "/pipes", () => import("./pipes-page.tsx"), "PipesPage"),
  validateSearch: listSearch,
});

/** A link that knows the id of a pipe alone. */
const pipeByIdRoute = createRoute({
  ...screen(rootRoute, "/pipes/$pipeId", () => import("./pipe-by-id-page.tsx"), "PipeByIdPage"),
});

const pipeRoute = createRoute({
  ...screen(rootRoute, "/pipes/$serviceId/$pipeId", () => import("./pipe-page.tsx"), "PipePage"),
});

const overviewRoute = createRoute({
  ...screen(pipeRoute, "/", () => import("./pipe-overview.tsx"), "PipeOverview"),
  validateSearch: (search: Record<string, unknown>) => (isHours(search.hours) ? { hours: search.hours } : {}),
});

const errorsRoute = createRoute({
  ...screen(pipeRoute, "/errors", () => import("./errors-page.tsx"), "ErrorsPage"),
  validateSearch: (search: Record<string, unknown>) => ({
    ...textsOf(search, "group", "origin"),
    ...oneOf(search, "state", ["replayed", "all"]),
  }),
});

const activityRoute = createRoute({
  ...screen(pipeRoute, "/activity", () => import("./pipe-activity.tsx"), "PipeActivity"),
});

const configurationRoute = createRoute({
  ...screen(pipeRoute, "/configuration", () => import("./configuration-page.tsx"), "ConfigurationPage"),
});

function isHours(value: unknown): value is number {
  return typeof value === "number" && [1, 6, 24, 168].includes(value);
}

export const pipeRoutes = [
  pipesRoute,
  pipeByIdRoute,
  pipeRoute.addChildren([overviewRoute, errorsRoute, activityRoute, configurationRoute]),
] as const;
