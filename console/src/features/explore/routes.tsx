import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { exploreSearch } from "./search.ts";

const exploreRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/explore",
  validateSearch: exploreSearch,
  component: lazyRouteComponent(() => import("./explore-page.tsx"), "ExplorePage"),
});

export const exploreRoutes = [exploreRoute] as const;
