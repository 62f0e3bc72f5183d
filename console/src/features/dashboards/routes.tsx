import { rootRoute, screen } from "../../app/root-route.tsx";
import { dashboardSearch } from "./search.ts";

export const dashboardRoutes = [
  screen(rootRoute, "/dashboards", () => import("./dashboards-page.tsx"), "DashboardsPage"),
  screen(rootRoute, "/dashboards/$dashboardId", () => import("./dashboard-page.tsx"), "DashboardPage", dashboardSearch),
] as const;
