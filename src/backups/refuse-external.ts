import { AppError } from "../lib/errors.ts";
import type { Service } from "../store/services.ts";

/** Backups are made of an engine's folder. Throws BAD_REQUEST for a service whose server is not ours. */
export function refuseExternal({ runtime }: Pick<Service, "runtime">): void {
  if (runtime === "embedded") return;
  const message =
    "Backups and restores of external services are not available; use the server's own: BACKUP DATABASE ... TO S3(...).";
  throw new AppError("BAD_REQUEST", message);
}
