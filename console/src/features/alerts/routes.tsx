import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { listSearch } from "./list-search.ts";
import { newAlertSearch } from "./new-alert-search.ts";

const alertsRoute = createRoute({
  ...screen(rootRoute, "/alerts", () => import("./alerts-page.tsx"), "AlertsPage"),
  validateSearch: listSearch,
});

const webhooksRoute = createRoute({
  ...screen(rootRoute, "/alerts/webhooks", () => import("./webhooks-page.tsx"), "WebhooksPage"),
});

const newAlertRoute = createRoute({
  ...screen(rootRoute, "/alerts/new", () => import("./new-alert-page.tsx"), "NewAlertPage"),
  validateSearch: newAlertSearch,
});

const alertRoute = createRoute({
  ...screen(rootRoute, "/alerts/$alertId", () => import("./alert-page.tsx"), "AlertPage"),
});

const editAlertRoute = createRoute({
  ...screen(rootRoute, "/alerts/$alertId/edit", () => import("./edit-alert-page.tsx"), "EditAlertPage"),
});

export const alertRoutes = [alertsRoute, webhooksRoute, newAlertRoute, alertRoute, editAlertRoute] as const;
