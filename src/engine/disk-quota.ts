/** The disk quota of one service: its use, its limit, and the error when the limit is exceeded. */
import { clickHouseException } from "../clickhouse/exception.ts";

const bytesPerGib = 2 ** 30;

/** Bytes; undefined when unknown or unlimited. */
export type DiskUse = { readonly usedBytes: number | undefined; readonly limitBytes: number | undefined };

/** A sentence for a service that has no disk left; undefined when it has some. */
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

  /** True when the service has no disk left. */
  get isFull(): boolean {
    return overQuota(this) !== undefined;
  }

  /** Throws NOT_ENOUGH_SPACE when the service has no disk left; called before a statement that needs more disk. */
  requireRoom(): void {
    const sentence = overQuota(this);
    if (sentence === undefined) return;
    const way = "SELECT, DROP, TRUNCATE, DROP PARTITION, DELETE and OPTIMIZE go on.";
    throw clickHouseException("NOT_ENOUGH_SPACE", `${sentence} ${way}`);
  }
}
