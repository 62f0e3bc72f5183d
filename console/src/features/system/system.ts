/** The state of the program, and what the screen makes of it. */
import type { OperationResult } from "../../api/client.ts";
import { oneOf, textsOf } from "../../lib/search.ts";

export type System = OperationResult<"getSystem">;
export type Setting = System["configuration"][number];

export function systemSearch(search: Record<string, unknown>) {
  return { ...textsOf(search, "q"), ...oneOf(search, "settings", ["changed"]) };
}

export function shownSettings(all: readonly Setting[], { q, settings }: ReturnType<typeof systemSearch>): Setting[] {
  const text = q?.toLowerCase() ?? "";
  return all.filter(
    ({ name, flag, environment, origin }) =>
      (settings === undefined || origin !== "default") &&
      (text === "" || [name, flag, environment].some((word) => word.toLowerCase().includes(text))),
  );
}

/** The value as text; secrets are never known here. */
export function valueText({ value, secret }: Setting): string {
  if (value === undefined || value === "") return "not set";
  return secret ? "set, not shown" : String(value);
}

/** The share of the disk that is used, from 0 to 1. */
export function usedShare({ totalBytes, freeBytes }: System["disk"]): number {
  return totalBytes === 0 ? 0 : (totalBytes - freeBytes) / totalBytes;
}

export function shareTone(share: number): "info" | "warn" | "bad" {
  if (share >= 0.97) return "bad";
  return share >= 0.9 ? "warn" : "info";
}

/** Where backups go: a bucket or a folder. */
export function backupPlace(configuration: readonly Setting[]): string {
  const settingOf = (name: string) => configuration.find((setting) => setting.name === name)?.value;
  return String(settingOf("backupBucket") ?? settingOf("backupDir") ?? "the folder backups in the data directory");
}
