import { rootRoute, screen } from "../../app/root-route.tsx";
import { activitySearch, loginSearch } from "./activity-search.ts";

export const activityRoutes = [
  screen(rootRoute, "/activity", () => import("./activity-page.tsx"), "ActivityPage", activitySearch),
  screen(rootRoute, "/activity/logins", () => import("./logins-page.tsx"), "LoginsPage", loginSearch),
] as const;
