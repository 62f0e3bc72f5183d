import { rootRoute, screen } from "../../app/root-route.tsx";
import { sqlSearch } from "./search.ts";

export const sqlRoutes = [screen(rootRoute, "/sql", () => import("./sql-page.tsx"), "SqlPage", sqlSearch)] as const;
