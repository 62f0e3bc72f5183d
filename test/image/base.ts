/** The base image of the Dockerfile without a registry: Debian by debootstrap, this Node and this machine's npm. */
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const certificates = "/etc/ssl/certs/ca-certificates.crt";

/** A file system as a tar archive in the cache folder. Made once: delete it to make it again. */
export async function baseArchive(cache: string): Promise<string> {
  const archive = join(cache, `base-${process.versions.node}.tar`);
  if (existsSync(archive)) return archive;
  const root = join(cache, "base");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  await run("debootstrap", ["--variant=minbase", "bookworm", root], { timeout: 420_000, maxBuffer: 2 ** 26 });
  const bin = join(root, "usr/local/bin");
  copyFileSync(process.execPath, join(bin, "node"));
  const { stdout } = await run("npm", ["root", "--global", "--silent"]);
  cpSync(join(stdout.trim(), "npm"), join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(bin, "npm"));
  // The registry may be behind a proxy with an authority of its own.
  mkdirSync(join(root, "etc/ssl/certs"), { recursive: true });
  if (existsSync(certificates)) copyFileSync(certificates, join(root, certificates));
  await run("tar", ["-C", root, "-cf", `${archive}.new`, "."], { timeout: 120_000 });
  renameSync(`${archive}.new`, archive);
  rmSync(root, { recursive: true, force: true });
  return archive;
}

/** Instructions that the archive needs as an image. */
export const baseChanges = [`ENV NODE_EXTRA_CA_CERTS=${certificates}`];
