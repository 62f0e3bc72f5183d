import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { type BackupListSearch, backupListSearch, type OverviewSearch, overviewSearch } from "./list-search.ts";
import { type RestoreSearch, restoreSearch } from "./restore-form.ts";

const backupsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/backups",
  validateSearch: (search: Record<string, unknown>): OverviewSearch => overviewSearch(search),
  component: lazyRouteComponent(() => import("./backups-page.tsx"), "BackupsPage"),
});

const serviceBackupsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/backups/$serviceId",
  validateSearch: (search: Record<string, unknown>): BackupListSearch => backupListSearch(search),
  component: lazyRouteComponent(() => import("./service-backups-page.tsx"), "ServiceBackupsPage"),
});

const backupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/backups/$serviceId/$backupId",
  component: lazyRouteComponent(() => import("./backup-page.tsx"), "BackupPage"),
});

const restoreRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/backups/$serviceId/$backupId/restore",
  validateSearch: (search: Record<string, unknown>): RestoreSearch => restoreSearch(search),
  component: lazyRouteComponent(() => import("./restore-page.tsx"), "RestorePage"),
});

const restoreProgressRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/backups/$serviceId/restores/$restoreId",
  component: lazyRouteComponent(() => import("./restore-progress-page.tsx"), "RestoreProgressPage"),
});

export const backupRoutes = [
  backupsRoute,
  serviceBackupsRoute,
  backupRoute,
  restoreRoute,
  restoreProgressRoute,
] as const;
