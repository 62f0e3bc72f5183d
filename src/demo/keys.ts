/** Single keys of the terminal, and the browser of the desktop. */
import { spawn } from "node:child_process";

/**
 * Calls the function of a key that is pressed; `c` stands for Ctrl-C, which a terminal in this mode does not turn into
 * a signal. Without a terminal does nothing. Returns a function that ends it.
 */
export function onKeys(actions: Readonly<Record<string, () => void | Promise<void>>>): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const listen = (chunk: Buffer) => {
    const key = chunk.toString("utf8");
    void actions[key === "\u0003" ? "c" : key]?.();
  };
  stdin.setRawMode(true);
  stdin.on("data", listen);
  return () => {
    stdin.off("data", listen);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

/** Asks the desktop to open an address. Does nothing where there is no desktop. */
export function openInBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => {});
  child.unref();
}
