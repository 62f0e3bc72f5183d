import { rootRoute, screen } from "../../app/root-route.tsx";
import { systemSearch } from "./system.ts";

export const systemRoutes = [
  screen(rootRoute, "/system", () => import("./system-page.tsx"), "SystemPage", systemSearch),
] as const;
