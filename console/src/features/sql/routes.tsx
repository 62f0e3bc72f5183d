import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { sqlSearch } from "./search.ts";

const sqlRoute = createRoute({
  ...screen(rootRoute, "/sql", () => import("./sql-page.tsx"), "SqlPage"),
  validateSearch: sqlSearch,
});

export const sqlRoutes = [sqlRoute] as const;
