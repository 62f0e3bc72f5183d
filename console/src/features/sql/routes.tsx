import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const sqlRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sql",
  component: lazyRouteComponent(() => import("./sql-page.tsx"), "SqlPage"),
});

export const sqlRoutes = [sqlRoute] as const;
