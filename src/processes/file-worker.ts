/** The thread that works on whole files. */
import { parentPort } from "node:worker_threads";
import { type FileTask, runFileTask } from "../backups/files/file-work.ts";
import type { FileAnswer } from "../backups/files/file-worker.ts";

parentPort?.on("message", ({ id, task }: { id: number; task: FileTask }) => {
  parentPort?.postMessage(answer(id, task));
});

function answer(id: number, task: FileTask): FileAnswer {
  try {
    return { id, facts: runFileTask(task) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { id, error: { message, ...(code === undefined ? {} : { code }) } };
  }
}
