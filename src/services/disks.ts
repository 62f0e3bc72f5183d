/**
 * What services use of the disk: as their engines report it, and in the store for the time when they sleep. Says when a
 * service is over its quota.
 */
import { overQuota } from "../engine/disk-quota.ts";
import type { Logger } from "../lib/logger.ts";
import type { Service, ServiceStore } from "../store/services.ts";

/** Every write makes the store forget what it has read, and waits for the disk: so only what matters is written. */
const writeEveryMs = 10_000;
const writtenShare = 0.01;

type Row = Pick<Service, "id" | "diskGb" | "diskUsedBytes">;

export class ServiceDisks {
  readonly #services: Pick<ServiceStore, "find" | "setDiskUsed">;
  readonly #logger: Logger;
  readonly #usedBytes = new Map<string, number>();
  readonly #writtenAt = new Map<string, number>();
  /** Services of which the log says that they are over their quota. */
  readonly #over = new Set<string>();

  constructor(options: { services: Pick<ServiceStore, "find" | "setDiskUsed">; logger: Logger }) {
    this.#services = options.services;
    this.#logger = options.logger;
  }

  /** An engine says what its service uses. Never rejects. */
  async report(serviceId: string, usedBytes: number): Promise<void> {
    this.#usedBytes.set(serviceId, usedBytes);
    try {
      const row = await this.#services.find(serviceId);
      if (row === undefined) return this.forget(serviceId);
      this.#warn(row);
      if (this.#isWorthWriting(row, usedBytes)) {
        this.#writtenAt.set(serviceId, Date.now());
        await this.#services.setDiskUsed(serviceId, usedBytes);
      }
    } catch (error) {
      this.#logger.error({ err: error, serviceId }, "the use of the disk could not be kept");
    }
  }

  /** The service is removed. */
  forget(serviceId: string): void {
    this.#usedBytes.delete(serviceId);
    this.#writtenAt.delete(serviceId);
    this.#over.delete(serviceId);
  }

  /** Bytes that the service's tables take, as last known; undefined before its first engine has said so. */
  usedBytes(row: Row): number | undefined {
    return this.#usedBytes.get(row.id) ?? row.diskUsedBytes ?? undefined;
  }

  /** A sentence when the service is over its quota. */
  problem(row: Row): string | undefined {
    return overQuota({ usedBytes: this.usedBytes(row), limitBytes: diskLimitBytes(row) });
  }

  /** The same by id; undefined also for a service that does not exist. */
  async problemOf(serviceId: string): Promise<string | undefined> {
    const row = await this.#services.find(serviceId);
    return row && this.problem(row);
  }

  #warn(row: Row): void {
    const problem = this.problem(row);
    if (problem === undefined) this.#over.delete(row.id);
    else if (!this.#over.has(row.id)) {
      this.#over.add(row.id);
      this.#logger.warn({ serviceId: row.id, diskGb: row.diskGb, usedBytes: this.usedBytes(row) }, problem);
    }
  }

  #isWorthWriting(row: Row, usedBytes: number): boolean {
    if (Date.now() - (this.#writtenAt.get(row.id) ?? 0) < writeEveryMs) return false;
    const written = row.diskUsedBytes;
    return written === null || Math.abs(usedBytes - written) > written * writtenShare;
  }
}

/** Undefined: no quota. */
export function diskLimitBytes({ diskGb }: Pick<Service, "diskGb">): number | undefined {
  return diskGb === null ? undefined : diskGb * 2 ** 30;
}
