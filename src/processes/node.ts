/** What every process of an installation opens first: its data directory, the metadata and its leases. */
import { chmodSync } from "node:fs";
import { resolve } from "node:path";
import { type Config, flagName } from "../config.ts";
import { assertConfined, type ConfinementState, confinementState } from "../confinement/state.ts";
import { AppError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { makeFolder } from "../lib/make-folder.ts";
import type { ShutdownStack } from "../lib/shutdown-stack.ts";
import { type NodeRole, renewEveryMs } from "../store/nodes/nodes.ts";
import { type LeasedStores, openStoresOf } from "../store/open.ts";

export type NodeOptions = {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  readonly signal: AbortSignal;
  /** Asks for `signal` to abort, with the reason. */
  readonly stop: (reason: Error) => void;
};

/** Opens the metadata, alone or beside the other processes of the installation. */
export async function openMetadata({ config, logger, version }: NodeOptions, role: NodeRole): Promise<LeasedStores> {
  const { secretKey, database, slots, pipeKinds, pipeSizes, allowAsyncReplication: allowsAsyncReplication } = config;
  return await openStoresOf({
    dataDir: openDataDir(config),
    takes: { kinds: pipeKinds?.split(","), sizes: pipeSizes },
    ...{ role, version, slots, secretKey, database, allowsAsyncReplication },
    onStep: (step) => logger.info(step, "migrating the metadata"),
    onOtherKey: () => logger.warn(otherKey),
    onLost: (err) => logger.warn({ err }, "connection to the metadata database lost"),
  });
}

const otherKey =
  "the secret key is another one than at the last start: secrets that were stored with that one cannot be read. Start " +
  "with it again (secret.key, MILLRACE_SECRET_KEY), or set the secrets of pipes, webhooks and external services anew";

/** Renews what this process holds, and stops the process when another one uses its data directory. */
export function leaseLoop(stores: LeasedStores, { logger, stop }: NodeOptions): Loop {
  const body = async () => {
    try {
      await stores.renew();
    } catch (error) {
      if (error instanceof AppError && error.code === "LEASE_LOST") stop(error);
      throw error;
    }
  };
  return new Loop({ name: "lease", everyMs: renewEveryMs, logger, body });
}

/** Throws when the kernel cannot confine child processes and the operator insists on it. */
export function checkedConfinement(config: Config, logger: Logger): ConfinementState {
  const confinement = confinementState();
  if (config.requireConfinement) assertConfined(confinement);
  if (confinement.missing.length > 0) logger.warn(confinement.sentence);
  return confinement;
}

/** Resolves when the signal has aborted and everything is closed. */
export async function stopWhenAborted(signal: AbortSignal, shutdown: ShutdownStack): Promise<void> {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  await shutdown.closeAll();
}

/** Restricts the folder to this user, also when it existed before. */
function openDataDir(config: Config): string {
  const dataDir = resolve(config.dataDir);
  try {
    makeFolder(dataDir);
    chmodSync(dataDir, 0o700);
  } catch (cause) {
    const remedy = "name a folder that this user may create and own";
    throw new Error(`${flagName("dataDir")} ${dataDir} cannot be used: ${remedy}`, { cause });
  }
  return dataDir;
}
