import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const accessRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/access",
  component: lazyRouteComponent(() => import("./access-page.tsx"), "AccessPage"),
});

export const accessRoutes = [accessRoute] as const;
