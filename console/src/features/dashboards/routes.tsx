import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { dashboardSearch } from "./search.ts";

const dashboardsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dashboards",
  component: lazyRouteComponent(() => import("./dashboards-page.tsx"), "DashboardsPage"),
});

const dashboardRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dashboards/$dashboardId",
  validateSearch: dashboardSearch,
  component: lazyRouteComponent(() => import("./dashboard-page.tsx"), "DashboardPage"),
});

export const dashboardRoutes = [dashboardsRoute, dashboardRoute] as const;
