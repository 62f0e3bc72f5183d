/** The quota of disk of one service: what it uses, what it may use, and what is said when that is too much. */
import { clickHouseException } from "../clickhouse/exception.ts";

const bytesPerGib = 2 ** 30;

/** Bytes; undefined where nothing is known, or nothing is limited. */
export type DiskUse = { readonly usedBytes: number | undefined; readonly limitBytes: number | undefined };

/** Says in a sentence that a service has no room left; undefined when it has. */
export function overQuota({ usedBytes, limitBytes }: DiskUse): string | undefined {
  if (usedBytes === undefined || limitBytes === undefined || usedBytes < limitBytes) return undefined;
  const used = (usedBytes / bytesPerGib).toFixed(2);
  const limit = limitBytes / bytesPerGib;
  return `The service uses ${used} GiB of disk, and its limit (diskGb) is ${limit} GiB. It takes no more data until there is room or the limit is raised.`;
}

export class DiskQuota implements DiskUse {
  usedBytes: number | undefined;
  limitBytes: number | undefined;

  constructor({ usedBytes, limitBytes }: DiskUse) {
    this.usedBytes = usedBytes;
    this.limitBytes = limitBytes;
  }

  /** True when the service has no room left. */
  get isFull(): boolean {
    return overQuota(this) !== undefined;
  }

  /** Throws NOT_ENOUGH_SPACE for a statement that takes more disk, when the service has no room left. */
  requireRoom(): void {
    const sentence = overQuota(this);
    if (sentence === undefined) return;
    const way = "SELECT, DROP, TRUNCATE, DROP PARTITION, DELETE and OPTIMIZE go on.";
    throw clickHouseException("NOT_ENOUGH_SPACE", `${sentence} ${way}`);
  }
}
