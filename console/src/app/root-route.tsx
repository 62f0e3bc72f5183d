/** The route that all features hang their routes on. */
import { createRootRoute, lazyRouteComponent } from "@tanstack/react-router";
import { NotFoundPage, RouteError, RoutePending } from "./route-states.tsx";
import { Shell } from "./shell.tsx";

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: RouteError,
  pendingComponent: RoutePending,
});

/** What a route needs whose screen is loaded when it is first opened. */
export function screen<
  Parent,
  const Path extends string,
  // biome-ignore lint/suspicious/noExplicitAny: as the router has it.
  Module extends Record<string, any>,
  Name extends keyof Module,
>(parent: Parent, path: Path, load: () => Promise<Module>, name: Name) {
  return { getParentRoute: () => parent, path, component: lazyRouteComponent(load, name) };
}
