import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { backupListSearch, overviewSearch } from "./list-search.ts";
import { restoreSearch } from "./restore-form.ts";

const backupsRoute = createRoute({
  ...screen(rootRoute, "/backups", () => import("./backups-page.tsx"), "BackupsPage"),
  validateSearch: overviewSearch,
});

const serviceBackupsRoute = createRoute({
  ...screen(rootRoute, "/backups/$serviceId", () => import("./service-backups-page.tsx"), "ServiceBackupsPage"),
  validateSearch: backupListSearch,
});

const backupRoute = createRoute({
  ...screen(rootRoute, "/backups/$serviceId/$backupId", () => import("./backup-page.tsx"), "BackupPage"),
});

const restoreRoute = createRoute({
  ...screen(rootRoute, "/backups/$serviceId/$backupId/restore", () => import("./restore-page.tsx"), "RestorePage"),
  validateSearch: restoreSearch,
});

const restoreProgressRoute = createRoute({
  ...screen(
    rootRoute,
    "/backups/$serviceId/restores/$restoreId",
    () => import("./restore-progress-page.tsx"),
    "RestoreProgressPage",
  ),
});

export const backupRoutes = [
  backupsRoute,
  serviceBackupsRoute,
  backupRoute,
  restoreRoute,
  restoreProgressRoute,
] as const;
