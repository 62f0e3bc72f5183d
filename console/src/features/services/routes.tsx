import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { type ServiceListSearch, serviceListSearch } from "./list-search.ts";

const servicesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/services",
  validateSearch: (search: Record<string, unknown>): ServiceListSearch => serviceListSearch(search),
  component: lazyRouteComponent(() => import("./services-page.tsx"), "ServicesPage"),
});

const createServiceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/services/new",
  component: lazyRouteComponent(() => import("./create-page.tsx"), "CreateServicePage"),
});

const serviceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/services/$serviceId",
  component: lazyRouteComponent(() => import("./service-page.tsx"), "ServicePage"),
});

const serviceOverviewRoute = createRoute({
  getParentRoute: () => serviceRoute,
  path: "/",
  component: lazyRouteComponent(() => import("./overview-tab.tsx"), "ServiceOverviewTab"),
});

const serviceAccessRoute = createRoute({
  getParentRoute: () => serviceRoute,
  path: "/access",
  component: lazyRouteComponent(() => import("./access-tab.tsx"), "ServiceAccessTab"),
});

const serviceSettingsRoute = createRoute({
  getParentRoute: () => serviceRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("./settings-tab.tsx"), "ServiceSettingsTab"),
});

const serviceMoveRoute = createRoute({
  getParentRoute: () => serviceRoute,
  path: "/move",
  component: lazyRouteComponent(() => import("./move-page.tsx"), "ServiceMovePage"),
});

export const serviceRoutes = [
  servicesRoute,
  createServiceRoute,
  serviceRoute.addChildren([serviceOverviewRoute, serviceAccessRoute, serviceSettingsRoute, serviceMoveRoute]),
] as const;
