/** Starting, stopping, waking and deleting services. */
import { resolveService, type ServiceObject } from "../client/resolve.ts";
import { CliError } from "../errors.ts";
import { span } from "../output/text.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags, waitFor } from "../wait.ts";

type Target = "running" | "stopped";

/** Waits until the service is running or stopped; exit code 3 when it has failed. */
export async function awaitService(
  shell: Shell,
  service: Pick<ServiceObject, "id" | "name">,
  target: Target,
  flags: WaitFlags,
): Promise<ServiceObject> {
  const client = await shell.client();
  return await waitFor(shell, flags, {
    what: `service ${service.name}`,
    poll: () => client.call("getService", { params: { serviceId: service.id } }),
    verdict: ({ state }) => (state === target ? "done" : state === "failed" ? "failed" : "pending"),
    line: ({ state }, elapsedMs) => `${service.name}: ${state} ${span(elapsedMs / 1000)}`,
    key: ({ state }) => state,
    reason: ({ stateMessage }) => stateMessage,
    goesOn: `service ${service.name} goes on to ${target === "running" ? "start" : "stop"}`,
  });
}

/** Sends the command; one that is already carried out is none to send. */
export async function commandService(
  shell: Shell,
  reference: string,
  command: "start" | "stop" | "awake",
  flags: WaitFlags,
): Promise<void> {
  checkWait(flags);
  const client = await shell.client();
  const service = await resolveService(client, reference);
  const target = command === "stop" ? "stopped" : "running";
  const params = { serviceId: service.id };
  if (service.state !== target) await client.call("updateServiceState", { params, body: { command } });
  const reached = flags.wait === true ? await awaitService(shell, service, target, flags) : undefined;
  const now = reached ?? (await client.call("getService", { params }));
  await shell.printDone(now, `${service.name}: ${now.state}`);
}

/** `service delete`: asks for the name on a terminal. */
export async function deleteService(
  shell: Shell,
  reference: string,
  flags: WaitFlags & { readonly yes?: boolean; readonly stop?: boolean },
): Promise<void> {
  checkWait(flags);
  const client = await shell.client();
  const service = await resolveService(client, reference);
  const params = { serviceId: service.id };
  await shell.confirm(`Service ${service.name}, its data and its pipes will be deleted.`, {
    yes: flags.yes,
    word: service.name,
  });
  if (flags.stop === true && !["stopped", "idle"].includes(service.state)) {
    await client.call("updateServiceState", { params, body: { command: "stop" } });
    await awaitService(shell, service, "stopped", flags);
  }
  const deleted = await client.call("deleteService", { params });
  if (flags.wait === true) await awaitGone(shell, service, flags);
  await shell.printDone(deleted, `deleted ${service.name}`);
}

async function awaitGone(shell: Shell, { id, name }: ServiceObject, flags: WaitFlags): Promise<void> {
  const client = await shell.client();
  await waitFor(shell, flags, {
    what: `service ${name}`,
    poll: async () => {
      try {
        return (await client.call("getService", { params: { serviceId: id } })).state;
      } catch (error) {
        if (error instanceof CliError && error.code === "NOT_FOUND") return "gone";
        throw error;
      }
    },
    verdict: (state) => (state === "gone" ? "done" : "pending"),
    line: (state) => `${name}: ${state}`,
    key: (state) => state,
    reason: () => undefined,
    goesOn: "the deletion goes on",
  });
}
