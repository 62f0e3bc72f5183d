/** Builds the console once for all browser tests, unless the build is current. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export function setup(): void {
  const builder = fileURLToPath(new URL("../../scripts/build-console.ts", import.meta.url));
  execFileSync(process.execPath, [builder, "--if-possible"], { stdio: "inherit" });
}
