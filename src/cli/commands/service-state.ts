/** Starting, stopping, waking and deleting services. */
import type { CliClient } from "../client/client.ts";
import { resolveService, type ServiceObject } from "../client/resolve.ts";
import { CliError, usageError } from "../errors.ts";
import { span } from "../output/text.ts";
import { selectServices } from "../selector.ts";
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
  return await waitFor(shell, flags, {
    what: `service ${service.name}`,
    poll: () => shell.call("getService", { params: { serviceId: service.id } }),
    verdict: ({ state }) => (state === target ? "done" : state === "failed" ? "failed" : "pending"),
    line: ({ state }, { elapsedMs }) => `${service.name}: ${state} ${span(elapsedMs / 1000)}`,
    key: ({ state }) => state,
    reason: ({ stateMessage }) => stateMessage,
    goesOn: `service ${service.name} goes on to ${target === "running" ? "start" : "stop"}`,
  });
}

export type StateFlags = WaitFlags & { readonly selector?: string };
type ServiceCommand = "start" | "stop" | "awake";

/** Sends the command to the named service, or to all that the selector names. */
export async function commandServices(
  shell: Shell,
  reference: string | undefined,
  command: ServiceCommand,
  flags: StateFlags,
): Promise<void> {
  checkWait(flags);
  const { selector } = flags;
  const services = await servicesOf(await shell.client(), reference, selector);
  const changed = [];
  for (const service of services) changed.push(await commandService(shell, service, command, flags));
  const sentence = changed.map(({ name, state }) => `${name}: ${state}`).join(", ");
  await shell.printDone(selector === undefined ? changed[0] : changed, sentence);
}

/** One that is already carried out is none to send. */
async function commandService(
  shell: Shell,
  service: ServiceObject,
  command: ServiceCommand,
  flags: WaitFlags,
): Promise<ServiceObject> {
  const target = command === "stop" ? "stopped" : "running";
  const params = { serviceId: service.id };
  if (service.state !== target) {
    await shell.call("updateServiceState", { params, body: { command } }).catch((error: unknown) => {
      throw command === "awake" ? withHint(error, `Start it: millrace service start ${service.name}`) : error;
    });
  }
  const reached = flags.wait === true ? await awaitService(shell, service, target, flags) : undefined;
  return reached ?? (await shell.call("getService", { params }));
}

/** Wakes a service that sleeps, and waits until it runs: its engine takes part in the checks of pipes. */
export async function wakeService(shell: Shell, service: ServiceObject, flags: WaitFlags): Promise<void> {
  const { name, state } = service;
  if (state === "running") return;
  if (!["idle", "awaking", "starting", "provisioning"].includes(state)) {
    const hint = `Start it: millrace service start ${name}`;
    throw new CliError(`service ${name} is ${state}, and has to run`, { code: "SERVICE_NOT_RUNNING", hint });
  }
  if (state === "idle") shell.say(`waking ${name}`);
  await commandService(shell, service, "awake", { ...flags, wait: true });
}

/** A conflict gets the command that ends it as its hint. */
function withHint(error: unknown, hint: string): unknown {
  if (!(error instanceof CliError) || error.code !== "CONFLICT") return error;
  const { exitCode, code, issues, requestId, retryable } = error;
  return new CliError(error.message, { exitCode, code, issues, hint, requestId, retryable });
}

/** The named service, or all that the selector names. Throws unless exactly one of the two is given. */
async function servicesOf(client: CliClient, reference: string | undefined, selector: string | undefined) {
  if ((reference === undefined) === (selector === undefined)) throw usageError("name a service, or use --selector");
  return selector === undefined
    ? [await resolveService(client, reference ?? "")]
    : await selectServices(client, selector);
}

type DeleteFlags = StateFlags & { readonly yes?: boolean; readonly stop?: boolean };

/** `service delete`: on a terminal one service is confirmed by its name, several by `yes` below their names. */
export async function deleteServices(shell: Shell, reference: string | undefined, flags: DeleteFlags): Promise<void> {
  checkWait(flags);
  const client = await shell.client();
  const services = await servicesOf(client, reference, flags.selector);
  const names = services.map(({ name }) => name).join(", ");
  const word = services.length === 1 ? { word: names } : {};
  await shell.confirm(`Deleted will be ${names}, with data and pipes.`, { yes: flags.yes, ...word });
  const deleted = [];
  for (const service of services) deleted.push(await deleteService(shell, service, flags));
  const single = flags.selector === undefined;
  await shell.printDone(single ? deleted[0] : deleted, `deleted ${names}`, single ? services[0] : services);
}

async function deleteService(shell: Shell, service: ServiceObject, flags: DeleteFlags) {
  const params = { serviceId: service.id };
  if (flags.stop === true && !["stopped", "idle"].includes(service.state)) {
    await shell.call("updateServiceState", { params, body: { command: "stop" } });
    await awaitService(shell, service, "stopped", flags);
  }
  const deleted = await shell.call("deleteService", { params }).catch((error: unknown) => {
    throw withHint(error, `Stop it first: millrace service stop ${service.name}, or add --stop.`);
  });
  if (flags.wait === true) await awaitGone(shell, service, flags);
  return deleted;
}

async function awaitGone(shell: Shell, { id, name }: ServiceObject, flags: WaitFlags): Promise<void> {
  await waitFor(shell, flags, {
    what: `service ${name}`,
    poll: async () => {
      try {
        return (await shell.call("getService", { params: { serviceId: id } })).state;
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
