/** Use of a service through processes that do not write its state: the one that does keeps it awake. */
import type { Service, ServiceStore } from "../store/services/services.ts";
import type { ServiceAccess } from "./access.ts";

export type UseOptions = {
  readonly access: Pick<ServiceAccess, "isActive" | "lastActivityAt">;
  readonly services: Pick<ServiceStore, "setUsedElsewhere">;
  /** Length of a minute in times of idling. */
  readonly idleMinuteMs: number;
};

/** Writes the last use through this process, at most once in a minute: a service idles after five at the earliest. */
export async function tellOfUse(row: Service, { access, services, idleMinuteMs }: UseOptions): Promise<void> {
  if (!row.idleScaling) return;
  const last = access.isActive(row.id) ? Date.now() : (access.lastActivityAt(row.id) ?? 0);
  if (last - lastUseElsewhere(row) >= idleMinuteMs) await services.setUsedElsewhere(row.id);
}

/** Milliseconds since 1970; 0 when there was none. */
export function lastUseElsewhere({ usedElsewhereAt }: Pick<Service, "usedElsewhereAt">): number {
  return usedElsewhereAt === null ? 0 : Date.parse(usedElsewhereAt);
}
