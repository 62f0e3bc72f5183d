/** The screen of `millrace top`: the alternate screen, redrawn in place, with keys. */
import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "../errors.ts";
import type { Shell } from "../shell.ts";
import { sortKeys, type TopView, topLines } from "./view.ts";

/** Redraws until `q` or Ctrl-C. A server that does not answer leaves the last table, with a note. */
export async function runTop(shell: Shell, look: () => Promise<TopView>, intervalMs: number): Promise<void> {
  const { stdout, stdin } = shell.io;
  const keys = new Keys();
  const terminal = stdin as NodeJS.ReadStream;
  if (terminal.isTTY) terminal.setRawMode(true);
  terminal.on("data", keys.take);
  stdout.write("\u001b[?1049h\u001b[?25l");
  try {
    await redraw(shell, look, intervalMs, keys);
  } finally {
    stdout.write("\u001b[?25h\u001b[?1049l");
    terminal.off("data", keys.take);
    if (terminal.isTTY) terminal.setRawMode(false);
    terminal.pause();
  }
}

async function redraw(shell: Shell, look: () => Promise<TopView>, intervalMs: number, keys: Keys): Promise<void> {
  const { stdout } = shell.io;
  let view: TopView | undefined;
  let seenAt = 0;
  let note = "";
  while (!keys.ended && !shell.signal.aborted) {
    if (Date.now() - seenAt >= intervalMs) {
      seenAt = Date.now();
      [view, note] = await answer(look, view);
    }
    if (view !== undefined) {
      const { sort, filter, typing } = keys;
      const lines = topLines(view, { color: shell.hasColor(stdout), width: stdout.columns, sort, filter });
      const shown = [...lines.slice(0, (stdout.rows ?? 24) - 2), "", typing ? `/${filter}` : note];
      stdout.write(`\u001b[H${shown.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`);
    }
    await Promise.race([delay(Math.min(intervalMs, 250)), keys.pressed()]);
  }
}

async function answer(
  look: () => Promise<TopView>,
  before: TopView | undefined,
): Promise<[TopView | undefined, string]> {
  try {
    return [await look(), `${new Date().toISOString().slice(11, 19)} UTC   s sort   / filter   q quit`];
  } catch (error) {
    if (!(error instanceof CliError && error.retryable)) throw error;
    return [before, error.message];
  }
}

/** What was typed. */
class Keys {
  ended = false;
  typing = false;
  filter = "";
  #sort = 0;
  #wake = () => {};

  get sort() {
    return sortKeys[this.#sort % sortKeys.length] ?? "lag";
  }

  /** Resolves at the next key. */
  pressed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  take = (chunk: Buffer): void => {
    for (const key of chunk.toString("utf8")) this.#press(key);
    this.#wake();
  };

  #press(key: string): void {
    if (key === "\u0003") this.ended = true;
    else if (this.typing) this.#type(key);
    else if (key === "q") this.ended = true;
    else if (key === "s") this.#sort += 1;
    else if (key === "/") this.typing = true;
  }

  #type(key: string): void {
    if (key === "\r" || key === "\u001b") this.typing = false;
    else if (key === "\u007f") this.filter = this.filter.slice(0, -1);
    else if (key >= " ") this.filter += key;
  }
}
