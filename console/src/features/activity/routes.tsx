import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { activitySearch, loginSearch } from "./activity-search.ts";

const activityRoute = createRoute({
  ...screen(rootRoute, "/activity", () => import("./activity-page.tsx"), "ActivityPage"),
  validateSearch: activitySearch,
});

const loginsRoute = createRoute({
  ...screen(rootRoute, "/activity/logins", () => import("./logins-page.tsx"), "LoginsPage"),
  validateSearch: loginSearch,
});

export const activityRoutes = [activityRoute, loginsRoute] as const;
