/** `millrace console`: a link that signs a browser in. */
import type { Command } from "commander";
import { usageError } from "../errors.ts";
import { isForPeople } from "../output/format.ts";
import type { Shell } from "../shell.ts";

type ConsoleFlags = { readonly open?: boolean; readonly print?: boolean; readonly path?: string };

/** Adds the flags of `console`. */
export function addConsole(command: Command, shell: Shell): void {
  command
    .option("--open", "Opens the browser instead of printing the link")
    .option("--print", "With --open: also prints the link")
    .option("--path <path>", "Page to open, such as /sql, /services/ID or /pipes/ID")
    .addHelpText("after", "\nThe link works once, within ten minutes.")
    .action(async (flags: ConsoleFlags) => {
      const suffix = flags.path === undefined ? "" : `&to=${routeOf(flags.path)}`;
      const { url, expiresAt } = await shell.call("createConsoleLink", {});
      const link = { url: `${url}${suffix}`, expiresAt };
      const isOpened = flags.open === true && (await isOpening(shell, link.url));
      if (!isForPeople(shell.format)) return await shell.printOne(link, []);
      if (!isOpened || flags.print === true) await shell.write(`${link.url}\n`);
    });
}

/** False, with the reason on stderr, when there is no browser. */
async function isOpening(shell: Shell, url: string): Promise<boolean> {
  const { openBrowser } = await import("../../lib/open-browser.ts");
  try {
    await openBrowser(url, shell.io);
    return true;
  } catch (error) {
    shell.say((error as Error).message);
    return false;
  }
}

/** A route of the console as part of a fragment. Two slashes would begin the name of another host. */
function routeOf(path: string): string {
  if (!/^\/(?![/\\])/.test(path)) throw usageError(`--path ${path}: must be a page of the console, such as /pipes`);
  return encodeURIComponent(path).replaceAll("%2F", "/");
}
