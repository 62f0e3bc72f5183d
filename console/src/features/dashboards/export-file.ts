/** A dashboard as a file that can be imported again. */
import type { Dashboard } from "../../charts/dashboard.ts";

export function saveFile(name: string, dashboard: Dashboard): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([JSON.stringify({ name, ...dashboard }, undefined, 2)], { type: "application/json" }),
  );
  link.download = `${name.replaceAll(/[^\w.-]+/g, "-") || "dashboard"}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
