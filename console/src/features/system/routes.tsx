import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { type SystemSearch, systemSearch } from "./system.ts";

const systemRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/system",
  validateSearch: (search: Record<string, unknown>): SystemSearch => systemSearch(search),
  component: lazyRouteComponent(() => import("./system-page.tsx"), "SystemPage"),
});

export const systemRoutes = [systemRoute] as const;
