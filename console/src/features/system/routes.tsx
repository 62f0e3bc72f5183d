import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { systemSearch } from "./system.ts";

const systemRoute = createRoute({
  ...screen(rootRoute, "/system", () => import("./system-page.tsx"), "SystemPage"),
  validateSearch: systemSearch,
});

export const systemRoutes = [systemRoute] as const;
