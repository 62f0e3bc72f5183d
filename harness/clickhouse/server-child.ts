/** The process of `server.ts`: the engine library's main function as a server. It ends with its parent. */
import { runEngine } from "../../src/engine/chdb/library.ts";
import { shareThreadsWithBackups } from "./backup-threads.ts";

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", ({ args, hasBackups }: { readonly args: readonly string[]; readonly hasBackups: boolean }) => {
  if (hasBackups) shareThreadsWithBackups();
  runEngine(args).finally(() => process.kill(process.pid, "SIGKILL"));
});
