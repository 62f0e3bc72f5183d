/**
 * `npm run test:kubernetes`: services in Kubernetes and the Helm chart, on a real API server. What it needs is built
 * on first use, from the Go module proxy and a Debian package; `npm test` runs the same files where that has been done.
 * With `MILLRACE_OPERATORS` the operator itself runs, too: the tests then see a copy of /etc/hosts, because pods have
 * names.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildKubernetes } from "../../harness/kubernetes/binaries.ts";
import { MissingTool } from "../../harness/missing.ts";
import { root } from "../../scripts/house.ts";

try {
  buildKubernetes((line) => console.log(line));
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--project", "real", "test/real/kubernetes"];
  process.exitCode =
    process.env.MILLRACE_OPERATORS === undefined
      ? (spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1)
      : withOwnHosts([process.execPath, ...args]);
} catch (error) {
  if (!(error instanceof MissingTool)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** Runs it where /etc/hosts is a copy. Needs root and `unshare` (util-linux). */
function withOwnHosts(command: readonly string[]): number {
  const folder = mkdtempSync(join(tmpdir(), "millrace-hosts-"));
  const hosts = join(folder, "hosts");
  copyFileSync("/etc/hosts", hosts);
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"';
  const env = { ...process.env, MILLRACE_OWN_HOSTS: hosts };
  const args = ["--mount", "sh", "-c", script, hosts, ...command];
  const { status, error } = spawnSync("unshare", args, { cwd: root, stdio: "inherit", env });
  rmSync(folder, { recursive: true });
  if (error !== undefined) throw new MissingTool("MILLRACE_OPERATORS needs unshare of util-linux, and root.");
  return status ?? 1;
}
