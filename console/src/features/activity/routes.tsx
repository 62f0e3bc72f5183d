import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { type ActivitySearch, activitySearch, type LoginSearch, loginSearch } from "./activity-search.ts";

const activityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/activity",
  validateSearch: (search: Record<string, unknown>): ActivitySearch => activitySearch(search),
  component: lazyRouteComponent(() => import("./activity-page.tsx"), "ActivityPage"),
});

const loginsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/activity/logins",
  validateSearch: (search: Record<string, unknown>): LoginSearch => loginSearch(search),
  component: lazyRouteComponent(() => import("./logins-page.tsx"), "LoginsPage"),
});

export const activityRoutes = [activityRoute, loginsRoute] as const;
