/** The process of `server.ts`: the engine library's main function as a server. It ends with its parent. */
import { flushCompileCache } from "node:module";
import { runEngine } from "../../src/engine/chdb/library.ts";
import { shareThreadsWithBackups } from "./backup-threads.ts";

// This process is killed, and the next one finds it.
flushCompileCache();
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", ({ args, hasBackups }: { readonly args: readonly string[]; readonly hasBackups: boolean }) => {
  if (hasBackups) shareThreadsWithBackups();
  runEngine(args).finally(() => process.kill(process.pid, "SIGKILL"));
});
