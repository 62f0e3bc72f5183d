import { AppError } from "../lib/errors.ts";
import type { Service } from "../store/services.ts";

/** Backups are made of an engine's folder. Throws BAD_REQUEST for a service whose server does not run here. */
export function refuseExternal({ runtime }: Pick<Service, "runtime">): void {
  if (runtime === "embedded") return;
  const services = runtime === "external" ? "external services" : "services in Kubernetes";
  const message = `Backups and restores of ${services} are not available; use the server's own: BACKUP DATABASE ... TO S3(...).`;
  throw new AppError("BAD_REQUEST", message);
}
