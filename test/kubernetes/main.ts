/**
 * `npm run test:kubernetes`: services in Kubernetes and the Helm chart, on a real API server. What it needs is built
 * on first use, from the Go module proxy and a Debian package; `npm test` runs the same files where that has been done.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildKubernetes } from "../../harness/kubernetes/binaries.ts";
import { MissingTool } from "../../harness/missing.ts";
import { root } from "../../scripts/house.ts";

try {
  buildKubernetes((line) => console.log(line));
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--project", "real", "test/real/kubernetes"];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1;
} catch (error) {
  if (!(error instanceof MissingTool)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
