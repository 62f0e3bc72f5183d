/** `millrace session`: browsers that act as a key. */
import type { Command } from "commander";
import { pick } from "../client/resolve.ts";
import { addYesFlag } from "../flags.ts";
import { age } from "../output/text.ts";
import type { Shell } from "../shell.ts";

/** Adds the verbs of `session`. */
export function addSession(command: Command, shell: Shell): void {
  const sessions = async () => await shell.call("listSessions", {});
  command
    .command("list")
    .description("Lists browser sessions")
    .action(async () => {
      await shell.printList(
        await sessions(),
        [
          { title: "KEY", value: ({ keyName }) => keyName },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
          { title: "SEEN", value: ({ lastSeenAt }) => age(lastSeenAt), right: true },
          { title: "EXPIRES", value: ({ expiresAt }) => age(expiresAt), right: true },
          { title: "ID", value: ({ id }) => id },
          { title: "BROWSER", value: ({ userAgent }) => userAgent },
        ],
        "There is no session.",
      );
    });
  addYesFlag(command.command("delete <session>"))
    .description("Ends a browser session")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const found = pick(
        "session",
        reference,
        (await sessions()).map((one) => ({ ...one, name: one.id })),
      );
      await shell.confirm(`The session of ${found.keyName} will end.`, flags);
      await shell.call("deleteSession", { params: { sessionId: found.id } });
      shell.say("ended the session");
    });
}
