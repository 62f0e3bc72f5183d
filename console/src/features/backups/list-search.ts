/** What the addresses of the lists of backups say, and which rows they leave. */
import { oneOf, textsOf } from "../../lib/search.ts";
import { type Backup, proofOf, type Service } from "./backup.ts";

export function overviewSearch(search: Record<string, unknown>) {
  return textsOf(search, "q", "proof");
}

export function backupListSearch(search: Record<string, unknown>) {
  return { ...oneOf(search, "type", ["full", "incremental"]), ...textsOf(search, "proof") };
}

/** A service with its backups, newest first; `service` is absent if it was deleted. */
export type Protected = {
  readonly serviceId: string;
  readonly service: Service | undefined;
  readonly backups: readonly Backup[];
};

/** Existing services by name, then deleted ones that have backups left. */
export function protectedServices(services: readonly Service[], backups: readonly Backup[]): Protected[] {
  const byService = Map.groupBy(backups, ({ serviceId }) => serviceId);
  const existing = services
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map((service) => ({ serviceId: service.id, service, backups: byService.get(service.id) ?? [] }));
  const known = new Set(services.map(({ id }) => id));
  const deleted = [...byService].filter(([id]) => !known.has(id));
  return [...existing, ...deleted.map(([serviceId, rows]) => ({ serviceId, service: undefined, backups: rows }))];
}

/** What the backup location holds of them: one that is being made, or has failed, may be nothing yet. */
export function storedOf(backups: readonly Pick<Backup, "status" | "sizeInBytes">[]): { count: number; bytes: number } {
  const done = backups.filter(({ status }) => status === "done");
  return { count: done.length, bytes: done.reduce((sum, { sizeInBytes }) => sum + sizeInBytes, 0) };
}

/** The word of the newest backup's proof; `None` without backups. */
export function newestProof({ backups: [newest] }: Protected): string {
  return newest === undefined ? "None" : proofOf(newest).word;
}

export function shownProtected(
  all: readonly Protected[],
  { q, proof }: ReturnType<typeof overviewSearch>,
): Protected[] {
  const text = q?.toLowerCase() ?? "";
  return all.filter(
    (one) =>
      (proof === undefined || newestProof(one) === proof) &&
      (text === "" || one.serviceId.startsWith(text) || one.service?.name.toLowerCase().includes(text) === true),
  );
}

export function shownBackups(all: readonly Backup[], { type, proof }: ReturnType<typeof backupListSearch>): Backup[] {
  return all.filter(
    (backup) => (type === undefined || backup.type === type) && (proof === undefined || proofOf(backup).word === proof),
  );
}
