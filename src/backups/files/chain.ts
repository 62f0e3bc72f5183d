/** The chain of a backup: its manifests from the full backup to itself, and its files prepared for the engine. */
import { join } from "node:path";
import { eachOf } from "../../lib/limiter.ts";
import { relocateBase } from "../engine-backup.ts";
import { type FileTransfer, fetchFile, fetchUnchecked } from "./files.ts";
import { backupFolder, type Manifest, readManifest } from "./manifest.ts";
import { forSingleServer } from "./single-server.ts";

const parallelFiles = 6;

export type Chain = { readonly folder: string; readonly manifest: Manifest }[];

/** Reads the manifests. Throws `MissingFile` or `BadManifest` when the chain is incomplete. */
export async function readChain(
  transfer: FileTransfer,
  serviceId: string,
  name: string,
  signal: AbortSignal,
): Promise<Chain> {
  const folder = backupFolder(serviceId, name);
  const manifest = await readManifest(transfer.storage, folder, transfer.encryptionKey, signal);
  const chain: Chain = [];
  for (const member of manifest.chain) {
    const memberFolder = backupFolder(serviceId, member.name);
    const found = await readManifest(transfer.storage, memberFolder, transfer.encryptionKey, signal);
    if (found.id !== member.id) throw new Error(`${memberFolder} holds another backup than ${folder} was made upon`);
    chain.push({ folder: memberFolder, manifest: found });
  }
  return [...chain, { folder, manifest }];
}

/**
 * Writes the chain's files below `target`, verifies each, and returns the folder to restore from. Throws `DamagedFile`
 * for the first file that differs from its manifest, unless `forced`.
 */
export async function stageChain(
  transfer: FileTransfer,
  chain: Chain,
  target: string,
  options: { forced: boolean; onStaged: (bytes: number) => void },
  signal: AbortSignal,
): Promise<string> {
  const fetch = options.forced ? fetchUnchecked : fetchFile;
  for (const [index, { folder, manifest }] of chain.entries()) {
    const here = join(target, String(index));
    await eachOf(manifest.files, parallelFiles, async (file) => {
      signal.throwIfAborted();
      await fetch(transfer, folder, manifest, file, insideOf(here, file.path), signal);
      options.onStaged(file.size);
    });
    if (manifest.isExternal) await forSingleServer(here);
    if (index > 0) await relocateBase(here, join(target, String(index - 1)));
  }
  return join(target, String(chain.length - 1));
}

/** Paths come from manifests, which anybody with write access to the location can change. */
function insideOf(folder: string, path: string): string {
  const full = join(folder, path);
  if (!full.startsWith(`${folder}/`)) throw new Error(`${path} leads out of the backup`);
  return full;
}
