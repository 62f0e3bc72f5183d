/**
 * A launcher that is started before it is needed, so that its own start, about 45 ms, does not delay the program. It
 * waits in the kernel and takes no processor time.
 */
import type { ChildProcess, StdioOptions } from "node:child_process";
import type { Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { startLauncher } from "./start-launcher.ts";

/** Delayed, because the program that has just started needs the processor more. */
const refillAfterMs = 500;

/** Keeps one launcher ready, of the kind that was requested last. It ends with this process. */
export class ReadyLauncher {
  #ready: { readonly stdio: StdioOptions; readonly child: ChildProcess } | undefined;
  #refilling: NodeJS.Timeout | undefined;

  /** A launcher that waits for its launch: the ready one, or a new one. */
  take(stdio: StdioOptions): ChildProcess {
    const ready = this.#ready;
    this.#ready = undefined;
    clearTimeout(this.#refilling);
    this.#refilling = setTimeout(() => this.#refill(stdio), refillAfterMs).unref();
    if (ready === undefined) return startLauncher(stdio);
    if (isDeepStrictEqual(ready.stdio, stdio)) {
      hold(ready.child, "ref");
      return ready.child;
    }
    ready.child.kill("SIGKILL");
    return startLauncher(stdio);
  }

  #refill(stdio: StdioOptions): void {
    const child = startLauncher(stdio);
    hold(child, "unref");
    this.#ready = { stdio, child };
    const gone = () => {
      if (this.#ready?.child === child) this.#ready = undefined;
    };
    child.once("error", gone);
    child.once("exit", gone);
  }
}

/** Whether this process stays alive for the child. */
export function hold(child: ChildProcess, how: "ref" | "unref"): void {
  child[how]();
  child.channel?.[how]();
  for (const stream of child.stdio) (stream as Socket | null | undefined)?.[how]?.();
}
