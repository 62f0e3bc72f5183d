import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const newPipeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/new-pipe",
  component: lazyRouteComponent(() => import("./new-pipe-page.tsx"), "NewPipePage"),
});

export const newPipeRoutes = [newPipeRoute] as const;
