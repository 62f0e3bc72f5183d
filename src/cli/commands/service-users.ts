/** `millrace service users`: database users. */
import type { Command } from "commander";
import { resolveService } from "../client/resolve.ts";
import { addYesFlag } from "../flags.ts";
import { isForPeople } from "../output/format.ts";
import { age } from "../output/text.ts";
import type { Shell } from "../shell.ts";

/** Adds `users list|create|delete`. */
export function addServiceUsers(command: Command, shell: Shell): void {
  const users = command.command("users").description("Manages the database users of a service");
  users
    .command("list <service>")
    .description("Lists database users")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      const found = await client.call("listServiceUsers", { params: { serviceId } });
      await shell.printList(
        found,
        [
          { title: "NAME", value: ({ name }) => name },
          {
            title: "ACCESS",
            value: ({ readonly, restricted, problem }) => {
              if (problem !== undefined) return "unreadable";
              return restricted ? "granted" : readonly ? "read only" : "full";
            },
          },
          { title: "AGE", value: ({ createdAt }) => age(createdAt), right: true },
        ],
        "There is no user.",
      );
    });
  users
    .command("create <service> <name>")
    .description("Creates a database user; its password is shown once")
    .option("--read-only", "The user may only read")
    .action(async (reference: string, name: string, flags: { readOnly?: boolean }) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      const body = { name, readonly: flags.readOnly === true };
      const created = await client.call("createServiceUser", { params: { serviceId }, body });
      if (!isForPeople(shell.format)) return await shell.printOne(created, []);
      await shell.write(`${created.password}\n`);
      shell.say(`created user ${name}; the password is not shown again`);
    });
  addYesFlag(users.command("delete <service> <name>"))
    .description("Deletes a database user")
    .action(async (reference: string, userName: string, flags: { yes?: boolean }) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      await shell.confirm(`User ${userName} will be deleted.`, { ...flags, word: userName });
      await client.call("deleteServiceUser", { params: { serviceId, userName } });
      shell.say(`deleted user ${userName}`);
    });
}
