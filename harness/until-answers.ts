/** Waits for servers that tests start as child processes. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

/** Servers answer within a second or two; a machine may be many times slower. */
const patienceMs = 180_000;

/** The last words of a program, from the moment of the call. Its output must be a pipe. */
export function lastWords(child: ChildProcess): () => string {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-8_192);
    });
  }
  return () => said;
}

/**
 * Resolves when the program answers. Throws at once with its last words when it has ended, and kills it when it does
 * not answer for three minutes.
 */
export async function untilAnswers(
  name: string,
  child: ChildProcess,
  answers: () => Promise<boolean>,
  words: () => string = lastWords(child),
): Promise<void> {
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error;
  });
  for (const started = Date.now(); ; await delay(50)) {
    const end = failure?.message ?? child.exitCode ?? child.signalCode;
    if (end !== null) throw new Error(`${name} ended (${end}):\n${words()}`);
    if (await answers()) return;
    if (Date.now() - started < patienceMs) continue;
    child.kill("SIGKILL");
    throw new Error(`${name} does not answer:\n${words()}`);
  }
}

/** Whether an HTTP server answers at all, whatever the status. */
export async function answersHttp(url: string): Promise<boolean> {
  return await fetch(url, { signal: AbortSignal.timeout(10_000) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return true;
    },
    () => false,
  );
}
