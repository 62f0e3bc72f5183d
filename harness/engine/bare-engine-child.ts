/** The process of `bare-engine.ts`: the genuine server alone. It ends with its parent. */
import { flushCompileCache } from "node:module";
import { connectServer } from "../../src/engine/chdb/connect.ts";
import { startServer } from "../../src/engine/chdb/server.ts";

// This process is killed, and the next one finds it.
flushCompileCache();
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", (options: Parameters<typeof startServer>[0]) => {
  connectServer(startServer(options), options).then(
    () => process.send?.("ready"),
    (error: unknown) => {
      console.error(error);
      process.kill(process.pid, "SIGKILL");
    },
  );
});
