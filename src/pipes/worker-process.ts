/**
 * The control plane's end of a pipe worker: spawns it, hands it its job, answers its calls, and knows how it ended. Calls
 * of a worker that was given up are refused, so a late one changes nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describeError } from "../lib/errors.ts";
import type { FromWorker, Job, ToWorker, WorkerCalls } from "./protocol.ts";

export type WorkerHandlers = {
  readonly [M in keyof WorkerCalls]: (argument: Parameters<WorkerCalls[M]>[0]) => Promise<ReturnType<WorkerCalls[M]>>;
};

export type WorkerReport = Exclude<FromWorker, { type: "call" }>;

export type WorkerProcess = {
  readonly pid: number;
  /** Settles when the process is gone, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Asks it to stop, and kills it after `graceMs`. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
};

const workerFile = fileURLToPath(new URL("./worker.ts", import.meta.url));

export function spawnWorker(options: {
  readonly job: Job;
  readonly handlers: WorkerHandlers;
  readonly onReport: (report: WorkerReport) => void;
  readonly compileCacheDir: string;
}): WorkerProcess {
  const child = spawn(process.execPath, [workerFile, options.job.pipeId], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    serialization: "json",
    env: environment(options.compileCacheDir),
  });
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      // The last messages may still be on their way: the channel closes behind them.
      if (child.connected) child.once("disconnect", () => resolve(how));
      else resolve(how);
    });
    child.once("error", (error) => resolve(describeError(error)));
  });
  let over = false;
  void ended.then(() => {
    over = true;
  });
  child.on("message", (message: FromWorker) => {
    if (over) return;
    if (message.type !== "call") return options.onReport(message);
    void answer(child, options.handlers, message);
  });
  tell(child, { type: "job", job: options.job });
  return {
    pid: child.pid ?? 0,
    ended,
    stop: async (graceMs) => {
      tell(child, { type: "stop" });
      const killer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await ended;
      clearTimeout(killer);
    },
  };
}

async function answer(
  child: ChildProcess,
  handlers: WorkerHandlers,
  call: Extract<FromWorker, { type: "call" }>,
): Promise<void> {
  try {
    const handler = handlers[call.method] as (argument: unknown) => Promise<unknown>;
    tell(child, { type: "answer", id: call.id, value: await handler(call.argument) });
  } catch (error) {
    tell(child, { type: "answer", id: call.id, error: describeError(error) });
  }
}

function tell(child: ChildProcess, message: ToWorker): void {
  // A worker that has just ended cannot be told; how it ended says all there is to know.
  if (child.connected) child.send(message, () => {});
}

function environment(compileCacheDir: string): NodeJS.ProcessEnv {
  // biome-ignore lint/style/noProcessEnv: inherited by the child, not read as configuration.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_"));
  return { ...Object.fromEntries(inherited), NODE_COMPILE_CACHE: compileCacheDir };
}
