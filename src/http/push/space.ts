/** Whether there is room for more rows: of the inbox, of the service's quota and on the disk. */
import { statfs } from "node:fs/promises";
import { AppError } from "../../lib/errors.ts";
import type { Inbox } from "../../sources/push/inbox/inbox.ts";
import type { Inboxes } from "../../sources/push/inbox/inboxes.ts";
import type { Service } from "../../store/services/services.ts";
import type { PushPipe } from "./pipes.ts";

const gibibyte = 2 ** 30;
const defaultInboxGb = 10;
const lookMs = 500;

export type SpaceOptions = {
  readonly folder: string;
  readonly inboxes: Inboxes;
  readonly minFreeDiskGb: number;
  /** A sentence when the service would be over its quota with so many bytes more. */
  readonly quotaProblem: (service: Service, more: number) => string | undefined;
};

export class Space {
  readonly #options: SpaceOptions;
  #free = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SpaceOptions) {
    this.#options = options;
  }

  /** The disk was not looked at for a while. */
  get isUnknown(): boolean {
    return performance.now() - this.#lookedAt > lookMs;
  }

  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    const { bavail, bsize } = await statfs(this.#options.folder);
    this.#free = bavail * bsize;
  }

  /** Throws INBOX_FULL or DISK_FULL, from what the disk had when it was looked at. */
  require({ config, service, neighbours }: PushPipe, inbox: Inbox): void {
    const most = (config.maxInboxGb ?? defaultInboxGb) * gibibyte;
    if (inbox.bytes >= most) {
      const { rows } = inbox.depth;
      const message = `The inbox of the pipe has ${rows} rows that are not loaded, as much as maxInboxGb allows.`;
      throw new AppError("INBOX_FULL", message);
    }
    const { inboxes, quotaProblem, minFreeDiskGb } = this.#options;
    const problem = quotaProblem(service, inboxes.bytesOf(neighbours));
    if (problem !== undefined) throw new AppError("DISK_FULL", problem);
    if (this.#free >= minFreeDiskGb * gibibyte) return;
    throw new AppError(
      "DISK_FULL",
      `The server has less than ${minFreeDiskGb} GiB of free disk and takes no more rows.`,
    );
  }
}

const fullCodes: readonly unknown[] = ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EFBIG"];

/** What the disk has refused, as an error for the sender. */
export function diskError(error: unknown): unknown {
  if (!fullCodes.includes((error as { code?: unknown } | null)?.code)) return error;
  return new AppError("DISK_FULL", "The server could not write the rows to its disk. None of them was kept.", {
    cause: error,
  });
}
