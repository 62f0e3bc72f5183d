/** A dashboard as a file that can be imported again. */
import type { Dashboard } from "../../charts/dashboard.ts";
import { saveFile } from "../../lib/save-file.ts";

export function exportDashboard(name: string, dashboard: Dashboard): void {
  const text = JSON.stringify({ name, ...dashboard }, undefined, 2);
  saveFile(`${name.replaceAll(/[^\w.-]+/g, "-") || "dashboard"}.json`, text, "application/json");
}
