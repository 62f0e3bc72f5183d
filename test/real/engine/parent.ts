/** A parent that starts an engine host, prints its pid and waits to be killed. */
import { join } from "node:path";
import { spawnEngineHost } from "../../../src/engine/spawn.ts";

const dir = process.argv[2] as string;
const host = await spawnEngineHost({
  dataDir: join(dir, "data"),
  runDir: join(dir, "files"),
  maxMemoryBytes: 1e9,
});
process.send?.(host.pid);
