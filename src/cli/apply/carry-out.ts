/** Carries a plan out, step by step. */
import type { CliClient } from "../client/client.ts";
import { listPipesOf, resolveService, type ServiceObject } from "../client/resolve.ts";
import { awaitService } from "../commands/service-state.ts";
import { fileError } from "../documents.ts";
import { CliError } from "../errors.ts";
import type { Shell } from "../shell.ts";
import type { WaitFlags } from "../wait.ts";
import { changeObject } from "./change.ts";
import type { CurrentObject } from "./current.ts";
import { titleOf, type WantedObject } from "./files.ts";
import { addLabel } from "./labels.ts";
import type { PlannedStep } from "./plan.ts";

export type ApplyOptions = WaitFlags & {
  /** Name of the set of files, for --prune. */
  readonly set: string;
  /** Also sends the secrets of objects that exist. */
  readonly updateSecrets?: boolean;
  /** Takes the secrets of new services and keys. */
  readonly keepSecret: (name: string, secret: string) => void;
};

/** Creates, changes and deletes. An error names file and line; what was done before stays. */
export async function carryOut(shell: Shell, steps: readonly PlannedStep[], options: ApplyOptions): Promise<void> {
  const client = await shell.client();
  for (const step of steps) {
    if (step.action === "delete") await remove(shell, client, step.current);
    else if (step.action === "create") await located(step.wanted, () => create(shell, client, step.wanted, options));
    else if (step.action === "change" || options.updateSecrets === true) {
      const { wanted, current, comparison } = step;
      if (options.updateSecrets === true) requireSecrets(wanted);
      await located(wanted, () => changeObject(client, wanted, current, comparison, options.updateSecrets === true));
      shell.say(`changed ${titleOf(wanted)}`);
    }
  }
}

/** Adds file and line to an error of the API. */
async function located(wanted: WantedObject, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const { file } = wanted;
    const issues = error.issues.map((issue) => ({
      ...issue,
      path: `${file.placeOf(["spec", ...issue.path.split(".")])}: ${issue.path}`,
    }));
    const { exitCode, code, hint, requestId, retryable } = error;
    const message = `${file.placeOf(["name"])}: ${titleOf(wanted)}: ${error.message}`;
    throw new CliError(message, { exitCode, code, issues, hint, requestId, retryable });
  }
}

function requireSecrets({ file }: WantedObject): void {
  const [missing] = file.missing;
  if (missing !== undefined) throw fileError(file.placeOf(missing.path.split(".")), missing.message);
}

async function create(shell: Shell, client: CliClient, wanted: WantedObject, options: ApplyOptions): Promise<void> {
  requireSecrets(wanted);
  const { kind, name, spec } = wanted;
  if (kind === "Service") return await createWantedService(shell, client, wanted, options);
  if (kind === "Key") {
    const created = await client.call("createKey", { body: { ...spec, name } as never });
    options.keepSecret(`key ${name}`, `${created.keyId}:${created.keySecret}`);
    return shell.say(`created ${titleOf(wanted)}`);
  }
  const service = await resolveService(client, wanted.service ?? "");
  if (kind === "Pipe") return await createWantedPipe(shell, client, wanted, service, options);
  const body = { ...spec, name, serviceId: service.id };
  const { data } = await client.call("createSource", { body: body as never });
  await addLabel(shell, client, service.id, "source", data.id, options.set);
  shell.say(`created ${titleOf(wanted)}`);
}

async function createWantedService(
  shell: Shell,
  client: CliClient,
  wanted: WantedObject,
  options: ApplyOptions,
): Promise<void> {
  const { name, spec } = wanted;
  const { service, password } = await client.call("createService", { body: { ...spec, name } as never });
  const twins = (await client.call("listServices", {})).filter((one) => one.name === name);
  if (isLater(service, twins)) {
    await client.call("updateServiceState", { params: { serviceId: service.id }, body: { command: "stop" } });
    await awaitService(shell, service, "stopped", options);
    await client.call("deleteService", { params: { serviceId: service.id } });
    return shell.say(`${titleOf(wanted)} was created by someone else at the same time`);
  }
  options.keepSecret(`service ${name}`, password);
  await addLabel(shell, client, service.id, "service", service.id, options.set);
  // Pipes and tables need it running.
  await awaitService(shell, service, "running", options);
  shell.say(`created ${titleOf(wanted)}`);
}

async function createWantedPipe(
  shell: Shell,
  client: CliClient,
  wanted: WantedObject,
  service: ServiceObject,
  options: ApplyOptions,
): Promise<void> {
  const { name, spec } = wanted;
  const params = { serviceId: service.id };
  const pipe = await client.call("createPipe", { params, body: { ...spec, name } as never });
  for (const { path, message } of pipe.warnings ?? []) shell.say(`warning: ${titleOf(wanted)}: ${path}: ${message}`);
  const twins = (await listPipesOf(client, [service])).filter((one) => one.name === name);
  if (isLater(pipe, twins)) {
    await client.call("deletePipe", { params: { ...params, pipeId: pipe.id } });
    return shell.say(`${titleOf(wanted)} was created by someone else at the same time`);
  }
  await addLabel(shell, client, service.id, "pipe", pipe.id, options.set);
  shell.say(`created ${titleOf(wanted)}`);
  if (options.wait !== true) return;
  const { awaitPipe } = await import("../commands/pipe-wait.ts");
  const params2 = { ...params, pipeId: pipe.id };
  await awaitPipe(shell, await client.call("getPipe", { params: params2 }), "running", options);
}

type Created = { readonly id: string; readonly createdAt: string };

/**
 * Whether another object of the same name is older. Names need not be unique at the server: of two runs at the same
 * time, the one that came second takes its object back.
 */
function isLater(own: Created, twins: readonly Created[]): boolean {
  const order = ({ createdAt, id }: Created) => `${createdAt} ${id}`;
  return twins.some((twin) => twin.id !== own.id && order(twin) < order(own));
}

async function remove(shell: Shell, client: CliClient, current: CurrentObject): Promise<void> {
  const { kind, id, serviceId = "" } = current;
  if (kind === "Pipe") await client.call("deletePipe", { params: { serviceId, pipeId: id } });
  else if (kind === "Source") await client.call("deleteSource", { params: { id } });
  else await removeService(shell, client, id);
  shell.say(`deleted ${titleOf(current)}`);
}

async function removeService(shell: Shell, client: CliClient, serviceId: string): Promise<void> {
  const service = await client.call("getService", { params: { serviceId } });
  if (!["stopped", "idle"].includes(service.state)) {
    await client.call("updateServiceState", { params: { serviceId }, body: { command: "stop" } });
    await awaitService(shell, service, "stopped", {});
  }
  await client.call("deleteService", { params: { serviceId } });
}
