/** `millrace completion SHELL`. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { choiceFlag } from "../flags.ts";
import type { Shell } from "../shell.ts";

/** Ours: the script of the library needs another package, evaluates the command line, and shows no descriptions. */
const bashScript = new URL("../completion.bash", import.meta.url);

const shells = ["bash", "zsh", "fish", "powershell"] as const;

const remarks = `
Load it in bash:  source <(millrace completion bash)
In zsh:           source <(millrace completion zsh)
In fish:          millrace completion fish | source`;

/** Adds the arguments of `completion`. */
export function addCompletion(command: Command, shell: Shell): void {
  command
    .argument("<shell>", shells.join(", "))
    .addHelpText("after", remarks)
    .action(async (name: string) => {
      const chosen = choiceFlag("shell", name, shells) as string;
      if (chosen === "bash") return await shell.write(readFileSync(bashScript, "utf8"));
      const { script } = await import("@bomb.sh/tab");
      const lines: string[] = [];
      // The library prints; its text must go to this command's stdout.
      const print = console.log;
      console.log = (text: string) => void lines.push(text);
      try {
        script(chosen, "millrace", "millrace");
      } finally {
        console.log = print;
      }
      await shell.write(`${lines.join("\n")}\n`);
    });
}
