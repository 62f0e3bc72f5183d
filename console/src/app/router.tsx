/** All routes. Screens load when they are first opened, or when a link to them is pointed at. */
import { createRouter } from "@tanstack/react-router";
import { accessRoutes } from "../features/access/routes.tsx";
import { activityRoutes } from "../features/activity/routes.tsx";
import { alertRoutes } from "../features/alerts/routes.tsx";
import { backupRoutes } from "../features/backups/routes.tsx";
import { dashboardRoutes } from "../features/dashboards/routes.tsx";
import { exploreRoutes } from "../features/explore/routes.tsx";
import { newPipeRoutes } from "../features/new-pipe/routes.tsx";
import { overviewRoutes } from "../features/overview/routes.tsx";
import { pipeRoutes } from "../features/pipes/routes.tsx";
import { serviceRoutes } from "../features/services/routes.tsx";
import { sqlRoutes } from "../features/sql/routes.tsx";
import { systemRoutes } from "../features/system/routes.tsx";
import { rootRoute } from "./root-route.tsx";
import { RouteError } from "./route-states.tsx";

const routeTree = rootRoute.addChildren([
  ...overviewRoutes,
  ...serviceRoutes,
  ...pipeRoutes,
  ...newPipeRoutes,
  ...sqlRoutes,
  ...exploreRoutes,
  ...dashboardRoutes,
  ...alertRoutes,
  ...backupRoutes,
  ...accessRoutes,
  ...activityRoutes,
  ...systemRoutes,
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  defaultPreload: "intent",
  // At the place of the screen: what is around it stays.
  defaultErrorComponent: RouteError,
  defaultPendingMs: 0,
  defaultPendingMinMs: 0,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
