import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

const servicesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/services",
  component: lazyRouteComponent(() => import("./list-page.tsx"), "ServicesPage"),
});

export const serviceRoutes = [servicesRoute] as const;
