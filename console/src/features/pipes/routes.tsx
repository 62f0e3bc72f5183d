import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { listSearch } from "./list-search.ts";

const pipesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/pipes",
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import("./pipes-page.tsx"), "PipesPage"),
});

/** A link that knows the id of a pipe alone. */
const pipeByIdRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/pipes/$pipeId",
  component: lazyRouteComponent(() => import("./pipe-by-id-page.tsx"), "PipeByIdPage"),
});

const pipeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/pipes/$serviceId/$pipeId",
  component: lazyRouteComponent(() => import("./pipe-page.tsx"), "PipePage"),
});

const overviewRoute = createRoute({
  getParentRoute: () => pipeRoute,
  path: "/",
  validateSearch: (search: Record<string, unknown>) => (isHours(search.hours) ? { hours: search.hours } : {}),
  component: lazyRouteComponent(() => import("./pipe-overview.tsx"), "PipeOverview"),
});

const errorsRoute = createRoute({
  getParentRoute: () => pipeRoute,
  path: "/errors",
  validateSearch: (search: Record<string, unknown>) => ({
    ...(typeof search.group === "string" ? { group: search.group } : {}),
    ...(search.state === "replayed" || search.state === "all" ? { state: search.state as "replayed" | "all" } : {}),
    ...(typeof search.origin === "string" ? { origin: search.origin } : {}),
  }),
  component: lazyRouteComponent(() => import("./errors-page.tsx"), "ErrorsPage"),
});

const activityRoute = createRoute({
  getParentRoute: () => pipeRoute,
  path: "/activity",
  component: lazyRouteComponent(() => import("./pipe-activity.tsx"), "PipeActivity"),
});

const configurationRoute = createRoute({
  getParentRoute: () => pipeRoute,
  path: "/configuration",
  component: lazyRouteComponent(() => import("./configuration-page.tsx"), "ConfigurationPage"),
});

function isHours(value: unknown): value is number {
  return typeof value === "number" && [1, 6, 24, 168].includes(value);
}

export const pipeRoutes = [
  pipesRoute,
  pipeByIdRoute,
  pipeRoute.addChildren([overviewRoute, errorsRoute, activityRoute, configurationRoute]),
] as const;
