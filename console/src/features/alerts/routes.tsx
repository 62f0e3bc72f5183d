import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { listSearch } from "./list-search.ts";
import { newAlertSearch } from "./new-alert-search.ts";

const alertsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/alerts",
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import("./alerts-page.tsx"), "AlertsPage"),
});

const webhooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/alerts/webhooks",
  component: lazyRouteComponent(() => import("./webhooks-page.tsx"), "WebhooksPage"),
});

const newAlertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/alerts/new",
  validateSearch: newAlertSearch,
  component: lazyRouteComponent(() => import("./new-alert-page.tsx"), "NewAlertPage"),
});

const alertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/alerts/$alertId",
  component: lazyRouteComponent(() => import("./alert-page.tsx"), "AlertPage"),
});

const editAlertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/alerts/$alertId/edit",
  component: lazyRouteComponent(() => import("./edit-alert-page.tsx"), "EditAlertPage"),
});

export const alertRoutes = [alertsRoute, webhooksRoute, newAlertRoute, alertRoute, editAlertRoute] as const;
