/** The thread that moves the bodies of large requests. */
import { parentPort } from "node:worker_threads";
import { moveBody, type SpliceTask } from "../endpoint/splice/move-body.ts";

parentPort?.on("message", (task: SpliceTask) => {
  parentPort?.postMessage(moveBody(task));
});
