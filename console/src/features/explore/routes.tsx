import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const exploreRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/explore",
  component: lazyRouteComponent(() => import("./explore-page.tsx"), "ExplorePage"),
});

export const exploreRoutes = [exploreRoute] as const;
