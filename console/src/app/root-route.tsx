/** The route that all features hang their routes on. */
import { createRootRoute } from "@tanstack/react-router";
import { NotFoundPage, RouteError, RoutePending } from "./route-states.tsx";
import { Shell } from "./shell.tsx";

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: RouteError,
  pendingComponent: RoutePending,
});
