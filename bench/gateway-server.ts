/** The gateway of the gateway benchmark and its engine host: one process and its child, as in the control plane. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { Gateway } from "../src/endpoint/gateway/gateway.ts";
import { spawnEngineHost } from "../src/engine/spawn.ts";
import { createLogger } from "../src/lib/logger.ts";

const dir = process.argv[2] as string;
const host = await spawnEngineHost({
  dataDir: join(dir, "data"),
  runDir: join(dir, "run", "files"),
  maxMemoryBytes: 4e9,
});
const gateway = new Gateway({
  logger: createLogger("warn"),
  backend: {
    acquire: async () => ({ forwardAddress: host.forwardAddress, release: () => {} }),
    handoff: () => host.handoff,
  },
});
const passwordSha256Hex = createHash("sha256").update("bench").digest("hex");
await gateway.sync([
  {
    id: "bench",
    name: "bench",
    host: "127.0.0.1",
    port: 0,
    nativePort: 0,
    ipAccessList: [{ source: "127.0.0.1" }],
    users: [{ name: "default", passwordSha256Hex, readonly: false }],
  },
]);
process.on("disconnect", () => process.exit(0));
process.send?.({
  gatewayPort: gateway.portOf("bench"),
  nativePort: gateway.nativePortOf("bench"),
  address: host.address,
});
