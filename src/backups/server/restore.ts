/** Restores one database or table of a backup into a server that is not a process of ours, which reads the bucket. */
import { ClickHouseClient } from "../../clickhouse/client.ts";
import { AppError } from "../../lib/errors.ts";
import { checkFiles } from "../check.ts";
import { type Chain, readChain } from "../files/chain.ts";
import { filesFolder } from "../files/files.ts";
import { type RestoreDeps, restoreStagedPart } from "../restore.ts";
import type { S3Keys } from "../storage/s3-storage.ts";
import { bucketFolder } from "./bucket-folder.ts";
import { oneHost, planServerRestore } from "./requirements.ts";

export type ServerRestoreDeps = Omit<RestoreDeps, "staging"> & { readonly serverKeys: S3Keys | undefined };

/** Reads every file of the backup first. All of the part is restored under its new name, or nothing. */
export async function restorePartAtServer(deps: ServerRestoreDeps, signal: AbortSignal): Promise<void> {
  const { transfer, address, restore, backup } = deps;
  const plan = await planServerRestore(address, backup, deps.serverKeys, restore.targetDatabase as string, signal);
  const problems = await checkFiles(transfer, backup, new Set(), signal);
  if (problems.length > 0 && !restore.forced) {
    throw new AppError("BACKUP_UNUSABLE", `The backup is damaged: ${problems.join("; ")}`);
  }
  const { folder, manifest } = (await readChain(transfer, backup.serviceId, backup.name, signal)).at(
    -1,
  ) as Chain[number];
  const from = bucketFolder(plan.bucket, plan.access, folder + filesFolder);
  const onProgress = (bytes: number) => deps.onProgress(Math.min(bytes, manifest.totalBytes), manifest.totalBytes);
  using client = new ClickHouseClient(oneHost(address));
  await restoreStagedPart({ client, folder: from, restore, onProgress }, manifest, signal);
}
