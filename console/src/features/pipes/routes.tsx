import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const pipesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/pipes",
  component: lazyRouteComponent(() => import("./pipes-page.tsx"), "PipesPage"),
});

export const pipeRoutes = [pipesRoute] as const;
