/** `millrace service`. */
import type { Command } from "commander";
import { resolveService, resolveServiceOrOnly } from "../client/resolve.ts";
import { addWaitFlags, addYesFlag, repeated } from "../flags.ts";
import { isForPeople } from "../output/format.ts";
import { age } from "../output/text.ts";
import { addSelectorFlag, selectServices } from "../selector.ts";
import type { Shell } from "../shell.ts";
import { addConnectionFlags } from "./service-external.ts";
import { addMove } from "./service-move.ts";
import type { StateFlags } from "./service-state.ts";
import { printService, serviceColumns } from "./service-view.ts";

/** Adds the verbs of `service`. */
export function addService(command: Command, shell: Shell): void {
  addSelectorFlag(command.command("list"), "Only services with these tags")
    .description("Lists services")
    .action(async ({ selector }: { selector?: string }) => {
      const client = await shell.client();
      const all = async () => await client.call("listServices", {});
      const services = selector === undefined ? await all() : await selectServices(client, selector);
      await shell.printList(services, serviceColumns, "There is no service. millrace service create NAME --wait");
    });
  command
    .command("get <service>")
    .description("Shows a service")
    .action(async (reference: string) => {
      const client = await shell.client();
      const { id: serviceId } = await resolveService(client, reference);
      await printService(shell, await client.call("getService", { params: { serviceId } }));
    });
  addCreate(command, shell);
  addUpdate(command, shell);
  addStates(command, shell);
  addMove(command, shell);
  addDelete(command, shell);
  addSecrets(command, shell);
  addServiceUsers(command, shell);
}

function addSettings(command: Command): Command {
  return command
    .option("--memory <gb>", "Memory limit in GiB: 1, 2 or a multiple of 4")
    .option("--replicas <number>", "Number of replicas of a service in Kubernetes")
    .option("--idle <time>", "Sleeps after this time without a query (15m, 2h), or never")
    .option("--allow <cidr>", "Address or range that may connect; may be repeated", repeated)
    .option("--tag <key=value>", "Tag; may be repeated", repeated)
    .option("--port <port>", "Port of the endpoint")
    .option("--disk <gb>", "Disk quota in GiB; in Kubernetes the size of the volumes")
    .option("--release-channel <channel>", "slow, default or fast");
}

function addCreate(command: Command, shell: Shell): void {
  const create = addConnectionFlags(addSettings(command.command("create <name>")))
    .description("Creates and starts a service, or connects to a server; the endpoint's password is shown once")
    .option("--kubernetes", "Runs the service in the cluster of the server")
    .option("--from-backup <backup>", "Restores this backup; latest:SERVICE for the newest of a service")
    .option("--pipes <state>", "With --from-backup: pipes of the backup are none, stopped or running")
    .option("--force", "With --from-backup: also from a backup that is damaged or not verified")
    .option(
      "--password-file <file>",
      "Writes the password to this new file; with --external: reads the server's password from it (- for stdin)",
    );
  addWaitFlags(create, "the service runs").action(async (name: string, flags) => {
    const { createService } = await import("./service-create.ts");
    await createService(shell, name, flags);
  });
}

function addUpdate(command: Command, shell: Shell): void {
  addConnectionFlags(addSettings(command.command("update <service>")))
    .description("Changes name, memory, idling, access list, tags, port, disk quota or connection")
    .option("--password-file <file>", "File with the new password of an external service's server; - reads stdin")
    .option("--name <name>", "New name")
    .option("--remove-allow <cidr>", "Address or range to remove; may be repeated", repeated)
    .option("--remove-tag <key>", "Tag to remove; may be repeated", repeated)
    .action(async (reference: string, flags) => {
      const { updateService } = await import("./service-create.ts");
      await updateService(shell, reference, flags);
    });
}

const commands = [
  ["start", "start", "Starts a service", "running"],
  ["stop", "stop", "Stops a service; its data stays, and an external server goes on", "stopped"],
  ["wake", "awake", "Wakes an idle service", "running"],
] as const;

function addStates(command: Command, shell: Shell): void {
  for (const [verb, sent, summary, target] of commands) {
    const added = addSelectorFlag(command.command(`${verb} [service]`), "All services with these tags");
    addWaitFlags(added.description(summary), `the service is ${target}`).action(
      async (reference: string | undefined, flags: StateFlags) => {
        const { commandServices } = await import("./service-state.ts");
        await commandServices(shell, reference, sent, flags);
      },
    );
  }
}

function addDelete(command: Command, shell: Shell): void {
  const added = addSelectorFlag(command.command("delete [service]"), "All services with these tags").description(
    "Deletes a service with its data and pipes; an external server keeps its data",
  );
  addWaitFlags(addYesFlag(added), "the service is gone")
    .option("--stop", "Stops a running service before")
    .action(async (reference: string | undefined, flags) => {
      const { deleteServices } = await import("./service-state.ts");
      await deleteServices(shell, reference, flags);
    });
}

function addSecrets(command: Command, shell: Shell): void {
  command
    .command("password <service>")
    .description("Gives the user `default` a new password: a generated one, or one of a file")
    .option("--password-file <file>", "File with the new password; - reads stdin")
    .action(async (reference: string, flags: { passwordFile?: string }) => {
      const { setPassword } = await import("./service-connect.ts");
      await setPassword(shell, reference, flags.passwordFile);
    });
  command
    .command("connect [service]")
    .description("Shows how a client connects")
    .option("--as <client>", "curl, node, python or env", "curl")
    .action(async (reference: string | undefined, flags: { as: string }) => {
      const { connectText } = await import("./service-connect.ts");
      const service = await resolveServiceOrOnly(await shell.client(), reference);
      await shell.write(connectText(service, flags.as));
    });
}

/** Adds `users list|create|delete`. */
function addServiceUsers(command: Command, shell: Shell): void {
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
