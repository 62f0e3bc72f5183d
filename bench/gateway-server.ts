/** The gateway of the gateway benchmark, in front of the engine host whose socket is given. */
import { createHash } from "node:crypto";
import { Gateway } from "../src/gateway/gateway.ts";
import { createLogger } from "../src/lib/logger.ts";

const socketPath = process.argv[2] as string;
const gateway = new Gateway({
  logger: createLogger("warn"),
  backend: { acquire: async () => ({ socketPath, release: () => {} }) },
});
const passwordSha256Hex = createHash("sha256").update("bench").digest("hex");
await gateway.sync([
  {
    id: "bench",
    name: "bench",
    host: "127.0.0.1",
    port: 0,
    ipAccessList: [{ source: "127.0.0.1", description: "" }],
    users: [{ name: "default", passwordSha256Hex, readonly: false }],
  },
]);
process.on("disconnect", () => process.exit(0));
process.send?.(gateway.portOf("bench"));
