import { rootRoute, screen } from "../../app/root-route.tsx";
import { backupListSearch, overviewSearch } from "./list-search.ts";
import { restoreSearch } from "./restore-form.ts";

const serviceBackups = () => import("./service-backups-page.tsx");
const restoreProgress = () => import("./restore-progress-page.tsx");

export const backupRoutes = [
  screen(rootRoute, "/backups", () => import("./backups-page.tsx"), "BackupsPage", overviewSearch),
  screen(rootRoute, "/backups/$serviceId", serviceBackups, "ServiceBackupsPage", backupListSearch),
  screen(rootRoute, "/backups/$serviceId/$backupId", () => import("./backup-page.tsx"), "BackupPage"),
  screen(
    rootRoute,
    "/backups/$serviceId/$backupId/restore",
    () => import("./restore-page.tsx"),
    "RestorePage",
    restoreSearch,
  ),
  screen(rootRoute, "/backups/$serviceId/restores/$restoreId", restoreProgress, "RestoreProgressPage"),
] as const;
