/** Checks that backups can be written, before the first backup fails. */
import { describeError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { type BackupTarget, folderError } from "./storage/location.ts";

/** Not below a folder of backups; the same for all installations, so that a lost one is replaced and not multiplied. */
const checkFolder = "write-check/";
const checkEveryMs = 600_000;

export type LocationState = { readonly checkedAt: string; readonly problem: string | undefined };

export class LocationCheck {
  readonly loop: Loop;
  readonly #target: BackupTarget;
  #state: LocationState | undefined;

  constructor(target: BackupTarget, logger: Logger) {
    this.#target = target;
    this.loop = new Loop({
      name: "backup location",
      everyMs: checkEveryMs,
      logger,
      body: (signal) => this.#pass(signal),
    });
  }

  /** The result of the last check; undefined before the first one has ended. */
  state(): LocationState | undefined {
    return this.#state;
  }

  /** A place that cannot be written is a result, and no failure of this loop. */
  async #pass(signal: AbortSignal): Promise<void> {
    const storage = this.#target.current;
    let problem: string | undefined;
    try {
      await storage.putWhole(`${checkFolder}millrace`, Buffer.from("Millrace may write here.\n"), signal);
      await storage.removeAll(checkFolder, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { location } = this.#target;
      problem = location.kind === "local" ? folderError(location.root, "written", error).message : describeError(error);
    }
    this.#state = { checkedAt: new Date().toISOString(), problem };
  }
}
