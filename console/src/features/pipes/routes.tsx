import { rootRoute, screen } from "../../app/root-route.tsx";
import { oneOf, textsOf } from "../../lib/search.ts";
import { listSearch } from "./list-search.ts";

const pipeRoute = screen(rootRoute, "/pipes/$serviceId/$pipeId", () => import("./pipe-page.tsx"), "PipePage");

const overviewSearch = ({ hours }: Record<string, unknown>) =>
  typeof hours === "number" && [1, 6, 24, 168].includes(hours) ? { hours } : {};

const errorsSearch = (search: Record<string, unknown>) => ({
  ...textsOf(search, "group", "origin"),
  ...oneOf(search, "state", ["replayed", "all"]),
});

export const pipeRoutes = [
  screen(rootRoute, "/pipes", () => import("./pipes-page.tsx"), "PipesPage", listSearch),
  // A link that knows the id of a pipe alone.
  screen(rootRoute, "/pipes/$pipeId", () => import("./pipe-by-id-page.tsx"), "PipeByIdPage"),
  pipeRoute.addChildren([
    screen(pipeRoute, "/", () => import("./pipe-overview.tsx"), "PipeOverview", overviewSearch),
    screen(pipeRoute, "/errors", () => import("./errors-page.tsx"), "ErrorsPage", errorsSearch),
    screen(pipeRoute, "/activity", () => import("./pipe-activity.tsx"), "PipeActivity"),
    screen(pipeRoute, "/configuration", () => import("./configuration-page.tsx"), "ConfigurationPage"),
  ]),
] as const;
