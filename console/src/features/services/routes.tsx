import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { serviceListSearch } from "./list-search.ts";

const servicesRoute = createRoute({
  ...screen(rootRoute, "/services", () => import("./services-page.tsx"), "ServicesPage"),
  validateSearch: serviceListSearch,
});

const createServiceRoute = createRoute({
  ...screen(rootRoute, "/services/new", () => import("./create-page.tsx"), "CreateServicePage"),
});

const serviceRoute = createRoute({
  ...screen(rootRoute, "/services/$serviceId", () => import("./service-page.tsx"), "ServicePage"),
});

const serviceOverviewRoute = createRoute({
  ...screen(serviceRoute, "/", () => import("./overview-tab.tsx"), "ServiceOverviewTab"),
});

const serviceAccessRoute = createRoute({
  ...screen(serviceRoute, "/access", () => import("./access-tab.tsx"), "ServiceAccessTab"),
});

const serviceSettingsRoute = createRoute({
  ...screen(serviceRoute, "/settings", () => import("./settings-tab.tsx"), "ServiceSettingsTab"),
});

const serviceMoveRoute = createRoute({
  ...screen(serviceRoute, "/move", () => import("./move-page.tsx"), "ServiceMovePage"),
});

export const serviceRoutes = [
  servicesRoute,
  createServiceRoute,
  serviceRoute.addChildren([serviceOverviewRoute, serviceAccessRoute, serviceSettingsRoute, serviceMoveRoute]),
] as const;
