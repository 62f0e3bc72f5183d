/** The screen of `millrace top`: the alternate screen, redrawn in place, with keys. */
import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "../errors.ts";
import { printable } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { detailLines } from "./detail.ts";
import { Keys } from "./keys.ts";
import { shownPipes, type TopView, topLines } from "./view.ts";

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
  let selected: string | undefined;
  while (!keys.ended && !shell.signal.aborted) {
    if (Date.now() - seenAt >= intervalMs) {
      seenAt = Date.now();
      [view, note] = await answer(look, view);
    }
    if (view !== undefined) {
      selected = moved(view, keys, selected);
      const { lines, foot } = shownLines(shell, view, keys, selected);
      const shown = [...lines.slice(0, (stdout.rows ?? 24) - 2), "", foot ?? printable(note)];
      stdout.write(`\u001b[H${shown.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`);
    }
    await Promise.race([delay(Math.min(intervalMs, 250)), keys.pressed()]);
  }
}

/** The selection follows its pipe when the order changes; the first pipe when it is gone. */
function moved(view: TopView, keys: Keys, selected: string | undefined): string | undefined {
  const pipes = shownPipes(view, keys);
  const at =
    Math.max(
      0,
      pipes.findIndex(({ id }) => id === selected),
    ) + keys.moves();
  return pipes[Math.min(Math.max(0, at), pipes.length - 1)]?.id;
}

function shownLines(shell: Shell, view: TopView, keys: Keys, selected: string | undefined) {
  const { stdout } = shell.io;
  const look = { color: shell.hasColor(stdout), width: stdout.columns, sort: keys.sort, filter: keys.filter, selected };
  const pipe = keys.detail ? view.pipes.find(({ id }) => id === selected) : undefined;
  if (pipe !== undefined) return { lines: detailLines(view, pipe, look), foot: undefined };
  const lines = topLines(view, look);
  const headLines = 3;
  // The selected pipe stays on the screen.
  const at = shownPipes(view, keys).findIndex(({ id }) => id === selected);
  const room = Math.max(1, (stdout.rows ?? 24) - 2 - headLines);
  const hidden = Math.max(0, at + 1 - room);
  return {
    lines: [...lines.slice(0, headLines), ...lines.slice(headLines + hidden)],
    foot: keys.typing ? `/${keys.filter}` : undefined,
  };
}

async function answer(
  look: () => Promise<TopView>,
  before: TopView | undefined,
): Promise<[TopView | undefined, string]> {
  try {
    return [
      await look(),
      `${new Date().toISOString().slice(11, 19)} UTC   j k select   enter detail   s sort   / filter   q quit`,
    ];
  } catch (error) {
    if (!(error instanceof CliError && error.retryable)) throw error;
    return [before, error.message];
  }
}
