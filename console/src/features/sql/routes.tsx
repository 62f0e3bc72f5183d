import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { sqlSearch } from "./search.ts";

const sqlRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sql",
  validateSearch: sqlSearch,
  component: lazyRouteComponent(() => import("./sql-page.tsx"), "SqlPage"),
});

export const sqlRoutes = [sqlRoute] as const;
