/** The process of `server.ts`: the engine library's main function as a server. It ends with its parent. */
import { runEngine } from "../../src/engine/chdb/library.ts";

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", (args: readonly string[]) => {
  runEngine(args).finally(() => process.kill(process.pid, "SIGKILL"));
});
