import { rootRoute, screen } from "../../app/root-route.tsx";
import { serviceListSearch } from "./list-search.ts";

const serviceRoute = screen(rootRoute, "/services/$serviceId", () => import("./service-page.tsx"), "ServicePage");

export const serviceRoutes = [
  screen(rootRoute, "/services", () => import("./services-page.tsx"), "ServicesPage", serviceListSearch),
  screen(rootRoute, "/services/new", () => import("./create-page.tsx"), "CreateServicePage"),
  serviceRoute.addChildren([
    screen(serviceRoute, "/", () => import("./overview-tab.tsx"), "ServiceOverviewTab"),
    screen(serviceRoute, "/access", () => import("./access-tab.tsx"), "ServiceAccessTab"),
    screen(serviceRoute, "/settings", () => import("./settings-tab.tsx"), "ServiceSettingsTab"),
    screen(serviceRoute, "/move", () => import("./move-page.tsx"), "ServiceMovePage"),
  ]),
] as const;
