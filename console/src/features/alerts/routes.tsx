import { rootRoute, screen } from "../../app/root-route.tsx";
import { listSearch } from "./list-search.ts";
import { newAlertSearch } from "./new-alert-search.ts";

export const alertRoutes = [
  screen(rootRoute, "/alerts", () => import("./alerts-page.tsx"), "AlertsPage", listSearch),
  screen(rootRoute, "/alerts/webhooks", () => import("./webhooks-page.tsx"), "WebhooksPage"),
  screen(rootRoute, "/alerts/new", () => import("./alert-form-pages.tsx"), "NewAlertPage", newAlertSearch),
  screen(rootRoute, "/alerts/$alertId", () => import("./alert-page.tsx"), "AlertPage"),
  screen(rootRoute, "/alerts/$alertId/edit", () => import("./alert-form-pages.tsx"), "EditAlertPage"),
] as const;
