import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { exploreSearch } from "./search.ts";

const exploreRoute = createRoute({
  ...screen(rootRoute, "/explore", () => import("./explore-page.tsx"), "ExplorePage"),
  validateSearch: exploreSearch,
});

export const exploreRoutes = [exploreRoute] as const;
