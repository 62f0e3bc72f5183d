import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const dashboardsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/dashboards",
  component: lazyRouteComponent(() => import("./dashboards-page.tsx"), "DashboardsPage"),
});

export const dashboardRoutes = [dashboardsRoute] as const;
