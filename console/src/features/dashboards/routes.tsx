import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { dashboardSearch } from "./search.ts";

const dashboardsRoute = createRoute({
  ...screen(rootRoute, "/dashboards", () => import("./dashboards-page.tsx"), "DashboardsPage"),
});

const dashboardRoute = createRoute({
  ...screen(rootRoute, "/dashboards/$dashboardId", () => import("./dashboard-page.tsx"), "DashboardPage"),
  validateSearch: dashboardSearch,
});

export const dashboardRoutes = [dashboardsRoute, dashboardRoute] as const;
