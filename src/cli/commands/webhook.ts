/** `millrace webhook`: where alerts are told. */
import type { Command } from "commander";
import type { OperationResult } from "../client/client.ts";
import { pick } from "../client/resolve.ts";
import { addYesFlag, choiceFlag } from "../flags.ts";
import { age } from "../output/text.ts";
import type { Shell } from "../shell.ts";

type Webhook = OperationResult<"listWebhooks">["data"][number];

/** The webhook with this name, id or unique prefix. */
export async function findWebhook(shell: Shell, reference: string): Promise<Webhook> {
  return pick("webhook", reference, (await shell.call("listWebhooks", {})).data);
}

const services = ["generic", "slack", "incidentio"] as const;

/** Adds the verbs of `webhook`. */
export function addWebhook(command: Command, shell: Shell): void {
  command
    .command("list")
    .description("Lists webhooks")
    .action(async () => {
      await shell.printList(
        (await shell.call("listWebhooks", {})).data,
        [
          { title: "NAME", value: ({ name }) => name },
          { title: "SERVICE", value: ({ service }) => service },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
          { title: "ID", value: ({ id }) => id },
        ],
        "There is no webhook. millrace webhook create NAME --url-file FILE",
      );
    });
  command
    .command("create <name>")
    .description("Creates a webhook")
    .requiredOption("--url-file <file>", "File with the URL, which may hold a secret; - is stdin")
    .option("--service <service>", "Form of the request: generic, slack or incidentio", "generic")
    .action(async (name: string, flags: { urlFile: string; service: string }) => {
      const service = choiceFlag("--service", flags.service, services) as (typeof services)[number];
      const body = { name, service, url: await shell.secret(flags.urlFile) };
      const { data } = await shell.call("createWebhook", { body });
      const { url: _, ...shown } = data;
      await shell.printDone(shown, `created ${data.name} (${data.id})`);
    });
  addYesFlag(command.command("delete <webhook>"))
    .description("Deletes a webhook that no alert uses")
    .action(async (reference: string, flags: { yes?: boolean }) => {
      const { id, name } = await findWebhook(shell, reference);
      await shell.confirm(`Webhook ${name} will be deleted.`, { ...flags, word: name });
      await shell.call("deleteWebhook", { params: { webhookId: id } });
      shell.say(`deleted ${name}`);
    });
}
