import { rootRoute, screen } from "../../app/root-route.tsx";
import { exploreSearch } from "./search.ts";

export const exploreRoutes = [
  screen(rootRoute, "/explore", () => import("./explore-page.tsx"), "ExplorePage", exploreSearch),
] as const;
