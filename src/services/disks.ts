/**
 * Disk use of services: as their engines report it, and in the store while they are idle. Reports when a service is
 * over its quota.
 */
import { overQuota } from "../engine/disk-quota.ts";
import type { Logger } from "../lib/logger.ts";
import type { Service, ServiceStore } from "../store/services/services.ts";

/** Every write invalidates what the store has cached, and waits for the disk: so only relevant changes are written. */
const writeEveryMs = 10_000;
const writtenShare = 0.01;

type DiskFacts = Pick<Service, "id" | "diskGb" | "diskUsedBytes">;

export class ServiceDisks {
  readonly #services: Pick<ServiceStore, "find" | "setDiskUsed">;
  readonly #logger: Logger;
  readonly #usedBytes = new Map<string, number>();
  readonly #writtenAt = new Map<string, number>();
  /** Services already logged as over their quota. */
  readonly #over = new Set<string>();

  constructor(options: { services: Pick<ServiceStore, "find" | "setDiskUsed">; logger: Logger }) {
    this.#services = options.services;
    this.#logger = options.logger;
  }

  /** Called when an engine reports its service's disk use. Never rejects. */
  async report(serviceId: string, usedBytes: number): Promise<void> {
    this.#usedBytes.set(serviceId, usedBytes);
    try {
      const service = await this.#services.find(serviceId);
      if (service === undefined) return this.forget(serviceId);
      this.#warn(service);
      if (this.#isWorthWriting(service, usedBytes)) {
        this.#writtenAt.set(serviceId, Date.now());
        await this.#services.setDiskUsed(serviceId, usedBytes);
      }
    } catch (error) {
      this.#logger.error({ err: error, serviceId }, "the use of the disk could not be kept");
    }
  }

  /** Forgets a removed service. */
  forget(serviceId: string): void {
    this.#usedBytes.delete(serviceId);
    this.#writtenAt.delete(serviceId);
    this.#over.delete(serviceId);
  }

  /** Last known bytes of the service's tables; undefined until its first engine has reported. */
  usedBytes(service: DiskFacts): number | undefined {
    return this.#usedBytes.get(service.id) ?? service.diskUsedBytes ?? undefined;
  }

  /** A sentence when the service is over its quota, with `more` bytes beside its tables; otherwise undefined. */
  problem(service: DiskFacts, more = 0): string | undefined {
    const used = this.usedBytes(service);
    const usedBytes = used === undefined && more === 0 ? undefined : (used ?? 0) + more;
    return overQuota({ usedBytes, limitBytes: diskLimitBytes(service) });
  }

  /** The same by id; undefined also for a service that does not exist. */
  async problemOf(serviceId: string): Promise<string | undefined> {
    const service = await this.#services.find(serviceId);
    return service && this.problem(service);
  }

  #warn(service: DiskFacts): void {
    const problem = this.problem(service);
    if (problem === undefined) this.#over.delete(service.id);
    else if (!this.#over.has(service.id)) {
      this.#over.add(service.id);
      this.#logger.warn({ serviceId: service.id, diskGb: service.diskGb, usedBytes: this.usedBytes(service) }, problem);
    }
  }

  #isWorthWriting(service: DiskFacts, usedBytes: number): boolean {
    if (Date.now() - (this.#writtenAt.get(service.id) ?? 0) < writeEveryMs) return false;
    const written = service.diskUsedBytes;
    return written === null || Math.abs(usedBytes - written) > written * writtenShare;
  }
}

/** Undefined: no quota. */
export function diskLimitBytes({ diskGb }: Pick<Service, "diskGb">): number | undefined {
  return diskGb === null ? undefined : diskGb * 2 ** 30;
}
