/** Waiting until the server has done what was asked. */
import { setTimeout as delay } from "node:timers/promises";
import { CliError, exitCodes, usageError } from "./errors.ts";
import { durationMs } from "./flags.ts";
import type { Moment } from "./output/progress.ts";
import type { Shell } from "./shell.ts";

export type WaitFlags = { readonly wait?: boolean; readonly timeout?: string };

export type Awaited<T> = {
  /** What is awaited, for messages: `pipe clicks`. */
  readonly what: string;
  readonly poll: () => Promise<T>;
  readonly verdict: (value: T) => "done" | "failed" | "pending";
  readonly line: (value: T, at: Moment) => string;
  /** The state, which logs show once. */
  readonly key: (value: T) => string;
  readonly reason: (value: T) => string | undefined;
  /** What goes on at the server when the command ends early. */
  readonly goesOn: string;
  readonly intervalMs?: number;
};

/** How long a server that does not answer is tolerated: it may restart. */
const toleratedMs = 60_000;

/**
 * Polls until the verdict is done and returns the value. Exit codes of what it throws: 3 with the reason if it failed,
 * 124 after `--timeout`, 130 after Ctrl-C.
 */
export async function waitFor<T>(shell: Shell, flags: WaitFlags, awaited: Awaited<T>): Promise<T> {
  const limitMs = timeoutOf(flags);
  const started = performance.now();
  const progress = shell.progress();
  shell.afterInterrupt = `interrupted; ${awaited.goesOn}`;
  let answeredAt = started;
  let seen: T | undefined;
  try {
    for (;;) {
      const value = await answerOf(awaited, () => performance.now() - answeredAt);
      const elapsed = performance.now() - started;
      if (value !== undefined) {
        answeredAt = performance.now();
        seen = value;
        const verdict = awaited.verdict(value);
        const at = { elapsedMs: elapsed, isPending: verdict === "pending" };
        progress.update(awaited.line(value, at), awaited.key(value));
        if (verdict === "done") return value;
        if (verdict === "failed") throw failedState(awaited, value);
      }
      if (elapsed >= limitMs) throw timedOut(awaited, flags, seen);
      await delay(Math.min(awaited.intervalMs ?? 250, limitMs - elapsed), undefined, { signal: shell.signal });
    }
  } finally {
    progress.end();
  }
}

/** Throws a usage error for a `--timeout` without `--wait`. */
export function checkWait(flags: WaitFlags): void {
  if (flags.wait !== true && flags.timeout !== undefined) throw usageError("--timeout needs --wait");
  timeoutOf(flags);
}

function timeoutOf({ timeout }: WaitFlags): number {
  return timeout === undefined ? Number.POSITIVE_INFINITY : durationMs(timeout, "--timeout");
}

async function answerOf<T>(awaited: Awaited<T>, silentMs: () => number): Promise<T | undefined> {
  try {
    return await awaited.poll();
  } catch (error) {
    const passes = error instanceof CliError && ["UNREACHABLE", "TOO_MANY_REQUESTS"].includes(error.code);
    if (!passes || silentMs() > toleratedMs) throw error;
    return undefined;
  }
}

function failedState<T>(awaited: Awaited<T>, value: T): CliError {
  const reason = awaited.reason(value);
  return new CliError(`${awaited.what} is ${awaited.key(value)}${reason === undefined ? "" : `: ${reason}`}`, {
    exitCode: exitCodes.failedState,
    code: "FAILED_STATE",
  });
}

/** With the reason of the state that it is in. */
function timedOut<T>(awaited: Awaited<T>, { timeout }: WaitFlags, seen: T | undefined): CliError {
  const reason = seen === undefined ? undefined : awaited.reason(seen);
  const because = reason === undefined ? "" : ` (${reason})`;
  return new CliError(`${awaited.what}: not done within ${timeout}${because}; ${awaited.goesOn}`, {
    exitCode: exitCodes.timeout,
    code: "TIMEOUT",
  });
}
