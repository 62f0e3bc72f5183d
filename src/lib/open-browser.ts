/** Opens a page in the user's browser. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export type BrowserSurroundings = {
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home: string;
};

/** An opener that runs for this long is the browser itself. */
const acceptedAfterMs = 2_000;

/**
 * Resolves when the desktop has accepted the request. Throws with a sentence when there is no browser to open. The URL
 * may contain a token. Other users see arguments of processes, so the browser is given a private file that leads to
 * the URL.
 */
export async function openBrowser(url: string, { env, home }: BrowserSurroundings): Promise<void> {
  const folder = join(home, ".cache", "millrace");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "open.html");
  writeFileSync(file, pageTo(url), { mode: 0o600 });
  const [command, ...args] = opener(pathToFileURL(file).href);
  const inherited = env === undefined ? {} : { env: { ...env } };
  const child = spawn(command, args, { ...inherited, stdio: "ignore", detached: true });
  child.unref();
  await new Promise<void>((resolve, reject) => {
    const accepted = setTimeout(resolve, acceptedAfterMs);
    const refuse = (reason: string) => {
      clearTimeout(accepted);
      reject(new Error(`no browser can be opened: ${command}: ${reason}`));
    };
    child.once("error", (cause) => refuse(reasonOf(cause)));
    child.once("exit", (code) => {
      if (code !== 0) return refuse(`exit code ${code}`);
      clearTimeout(accepted);
      resolve();
    });
  });
}

function opener(url: string): [string, ...string[]] {
  if (process.platform === "darwin") return ["open", url];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", url];
  return ["xdg-open", url];
}

function reasonOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code === "ENOENT" ? "not installed" : error.message;
}

/** `replace`: the way back in the browser's history does not lead to a link that is used up. */
function pageTo(url: string): string {
  const text = JSON.stringify(url).replaceAll("<", "\\u003c");
  return `<!doctype html><meta charset="utf-8"><title>Millrace</title><script>location.replace(${text})</script>\n`;
}
