/** Opens the room of backups: backups of services and of the metadata, each with its loop. */
import type { ClickHouseAddress } from "../clickhouse/client.ts";
import type { EngineLease } from "../clickhouse/lease.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import { Loop } from "../lib/loop.ts";
import { isLedHere } from "../store/nodes/leases.ts";
import type { LeasedStores } from "../store/open.ts";
import { FileWorker } from "./files/file-worker.ts";
import { BackupJobs } from "./jobs.ts";
import { LocationCheck } from "./location-check.ts";
import { MetadataBackups } from "./metadata.ts";
import { BackupsReconciler } from "./reconciler.ts";
import { BackupTarget, backupLocationOptions } from "./storage/location.ts";

export type BackupsOptions = {
  readonly config: Config;
  readonly dataDir: string;
  readonly stores: LeasedStores;
  readonly logger: Logger;
  readonly version: string;
  /** The service's engine: woken when idle, started without serving clients when stopped. */
  readonly engine: (serviceId: string, signal: AbortSignal) => Promise<EngineLease>;
};

type Engine = { readonly address: ClickHouseAddress };

export type Backups = {
  readonly backupLocation: BackupTarget;
  readonly jobs: BackupJobs;
  readonly reconciler: BackupsReconciler;
  readonly loop: Loop;
  readonly metadataLoop: Loop;
  readonly locationCheck: LocationCheck;
  /** Restores data into the engine of a new service before it serves; undefined when there is nothing to restore. */
  restorerFor(serviceId: string, signal: AbortSignal): Promise<((engine: Engine) => Promise<void>) | undefined>;
  /** Waits for running jobs, then ends the file worker's thread. */
  close(): Promise<void>;
};

export function openBackups(options: BackupsOptions): Backups {
  const { config, dataDir, stores, logger } = options;
  const backupLocation = new BackupTarget(backupLocationOptions(config, dataDir));
  const worker = new FileWorker();
  const metadata = openMetadataBackups(options, backupLocation, worker);
  const jobs = new BackupJobs({
    ...stores,
    backupLocation,
    worker,
    dataDir,
    engine: options.engine,
    maxChain: config.backupChainLength,
    logger,
  });
  const reconciler = new BackupsReconciler({
    ...stores,
    jobs,
    logger,
    poke: () => loop.poke(),
    hourMs: config.backupHourMs,
    checkHours: config.backupCheckHours,
    onBackup: metadata.want,
  });
  const loop = new Loop({ name: "backups", everyMs: 1_000, logger, body: (stopping) => reconciler.pass(stopping) });
  return {
    backupLocation,
    jobs,
    reconciler,
    loop,
    metadataLoop: metadata.loop,
    locationCheck: new LocationCheck(backupLocation, logger),
    restorerFor: async (serviceId, signal) => {
      const restore = await stores.restores.findUnfinishedFor(serviceId);
      return restore && ((engine) => jobs.fillNewService(restore, engine.address, signal));
    },
    close: async () => {
      await reconciler.close();
      await worker.close();
    },
  };
}

function openMetadataBackups(options: BackupsOptions, backupLocation: BackupTarget, worker: FileWorker) {
  const { config, dataDir, stores, logger, version } = options;
  const metadata = new MetadataBackups({
    db: stores.db,
    backupLocation,
    worker,
    dataDir,
    secretKey: stores.secretKey.toString("base64"),
    version,
    hourMs: config.backupHourMs,
    logger,
  });
  const body = async (stopping: AbortSignal) => {
    if (await isLedHere(stores.leases, "metadata backups")) await metadata.pass(stopping);
  };
  const loop = new Loop({ name: "metadata backups", everyMs: 30_000, logger, body });
  const want = () => {
    metadata.want();
    loop.poke();
  };
  return { loop, want };
}
