/** Carries a plan out, step by step. */
import type { CliClient } from "../client/client.ts";
import { resolveService, type ServiceObject } from "../client/resolve.ts";
import { awaitService, wakeService } from "../commands/service-state.ts";
import { fileError } from "../documents.ts";
import { CliError } from "../errors.ts";
import type { Shell } from "../shell.ts";
import type { WaitFlags } from "../wait.ts";
import { changeObject } from "./change.ts";
import { pipeSpec, serviceSpec } from "./current.ts";
import { type CurrentObject, hasSecrets, titleOf, type WantedObject } from "./files.ts";
import { addLabel } from "./labels.ts";
import type { PlannedStep } from "./plan.ts";
import { changeSaved, createSaved, isSaved, type Known } from "./saved.ts";
import { createOnce, requireSame } from "./twins.ts";

export type ApplyOptions = WaitFlags & {
  /** Name of the set of files, for --prune. */
  readonly set: string;
  /** Also sends the secrets of objects that exist. */
  readonly updateSecrets?: boolean;
  /** Takes the secrets of new services and keys. */
  readonly keepSecret: (name: string, secret: string) => void;
};

/** Creates, changes and deletes. An error names file and line; what was done before stays. */
export async function carryOut(
  shell: Shell,
  steps: readonly PlannedStep[],
  existing: readonly Known[],
  options: ApplyOptions,
): Promise<void> {
  const client = await shell.client();
  const known = [...existing];
  const run = { shell, client, options, made: new Map<string, ServiceObject>(), known };
  const sendsSecrets = (step: PlannedStep) => {
    if (step.action === "delete" || !hasSecrets(step.wanted.spec)) return false;
    // A webhook is replaced as a whole.
    return options.updateSecrets === true || (step.action === "change" && step.wanted.kind === "Webhook");
  };
  // Before anything is done: a variable that is missing is missing for all.
  for (const step of steps) {
    if (step.action !== "delete" && (step.action === "create" || sendsSecrets(step))) requireSecrets(step.wanted);
  }
  await wakeServices(
    run,
    steps.filter((step) => asksEngine(step, sendsSecrets(step))).map(({ wanted }) => wanted),
  );
  for (const step of steps) {
    if (step.action === "delete") await remove(shell, client, step.current);
    else if (step.action === "create") {
      await located(step.wanted, async () => {
        known.push({ ...step.wanted, id: await create(run, step.wanted), fileId: step.wanted.id });
      });
    } else if (step.action === "change" || sendsSecrets(step)) {
      const { wanted, current, comparison } = step;
      await located(wanted, () =>
        isSaved(wanted.kind)
          ? changeSaved(client, wanted.kind, wanted, current, known)
          : changeObject(client, wanted, current, comparison, sendsSecrets(step)),
      );
      shell.say(`changed ${titleOf(wanted)}`);
    }
  }
}

type Run = {
  readonly shell: Shell;
  readonly client: CliClient;
  readonly options: ApplyOptions;
  /** New services by name, or the id in their file. While another run takes its own back, the name is ambiguous. */
  readonly made: Map<string, ServiceObject>;
  /** What exists by now: documents name it. */
  readonly known: readonly Known[];
};

/** New pipes, and changes of what a pipe reads and fills, are checked with the service's engine. */
function asksEngine(step: PlannedStep, sendsSecrets: boolean): step is Exclude<PlannedStep, { action: "delete" }> {
  if (step.action === "delete" || step.wanted.kind !== "Pipe") return false;
  if (step.action === "create" || sendsSecrets) return true;
  return step.comparison.changes.some(({ path }) => /^(source|destination)/.test(path));
}

/** Wakes the services of these pipes, before anything is changed. One that cannot be woken is an error. */
async function wakeServices({ shell, client, options }: Run, pipes: readonly WantedObject[]): Promise<void> {
  const services = pipes.length === 0 ? [] : await client.call("listServices", {});
  for (const [named, pipe] of new Map(pipes.map((one) => [one.service, one]))) {
    const service = services.find(({ id, name }) => named === id || named === name);
    if (service !== undefined) await located(pipe, () => wakeService(shell, service, options));
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

/** Returns the id of the new object. */
async function create(run: Run, wanted: WantedObject): Promise<string> {
  const { shell, client, options, made } = run;
  const { kind, name, spec } = wanted;
  if (isSaved(kind)) {
    const id = await createSaved(client, kind, wanted, run.known);
    shell.say(`created ${titleOf(wanted)}`);
    return id;
  }
  if (kind === "Service") return await createWantedService(run, wanted);
  if (kind === "Key") {
    const created = await client.call("createKey", { body: { ...spec, name } as never });
    options.keepSecret(`key ${name}`, `${created.keyId}:${created.keySecret}`);
    shell.say(`created ${titleOf(wanted)}`);
    return created.key.id;
  }
  const service = made.get(wanted.service ?? "") ?? (await resolveService(client, wanted.service ?? ""));
  if (kind === "Pipe") return await createWantedPipe(run, wanted, service);
  if (kind === "BackupSchedule") {
    // A new service has the schedule of the server: the file's is a change of it.
    const body = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null));
    await client.call("updateBackupConfiguration", { params: { serviceId: service.id }, body });
    shell.say(`changed ${titleOf(wanted)}`);
    return service.id;
  }
  const body = { ...spec, name, serviceId: service.id };
  const { data } = await client.call("createSource", { body: body as never });
  await addLabel(shell, client, service.id, "source", data.id, options.set);
  shell.say(`created ${titleOf(wanted)}`);
  return data.id;
}

async function createWantedService({ shell, client, options, made }: Run, wanted: WantedObject): Promise<string> {
  const { id, name, spec } = wanted;
  let password = "";
  const { kept, own } = await createOnce(
    async () => {
      const created = await client.call("createService", { body: { ...spec, name } as never });
      password = created.password;
      return created.service;
    },
    // What has an id in its file is one of several.
    async () => (id === undefined ? (await client.call("listServices", {})).filter((one) => one.name === name) : []),
  );
  made.set(id ?? name, kept);
  const isOwn = own?.id === kept.id;
  if (isOwn) {
    options.keepSecret(`service ${name}`, password);
    await addLabel(shell, client, kept.id, "service", kept.id, options.set);
  } else {
    if (own !== undefined) await removeService(shell, client, own.id);
    requireSame(wanted, serviceSpec(kept));
  }
  // Pipes and tables need it running.
  await awaitService(shell, kept, "running", options);
  sayCreated(shell, wanted, isOwn);
  return kept.id;
}

async function createWantedPipe(
  { shell, client, options }: Run,
  wanted: WantedObject,
  service: ServiceObject,
): Promise<string> {
  const { id, name, spec } = wanted;
  const params = { serviceId: service.id };
  const { kept, own } = await createOnce(
    async () => {
      const { warnings = [], ...pipe } = await client.call("createPipe", { params, body: { ...spec, name } as never });
      for (const { path, message } of warnings) shell.say(`warning: ${titleOf(wanted)}: ${path}: ${message}`);
      return pipe;
    },
    async () =>
      id === undefined ? (await client.call("listPipes", { params })).filter((one) => one.name === name) : [],
  );
  const isOwn = own?.id === kept.id;
  if (isOwn) await addLabel(shell, client, service.id, "pipe", kept.id, options.set);
  else {
    if (own !== undefined) await client.call("deletePipe", { params: { ...params, pipeId: own.id } });
    requireSame(wanted, pipeSpec(kept));
  }
  sayCreated(shell, wanted, isOwn);
  if (options.wait === true) {
    const { awaitPipe } = await import("../commands/pipe-wait.ts");
    const pipe = await client.call("getPipe", { params: { ...params, pipeId: kept.id } });
    await awaitPipe(shell, pipe, "running", options);
  }
  return kept.id;
}

function sayCreated(shell: Shell, wanted: WantedObject, isOwn: boolean): void {
  const title = titleOf(wanted);
  shell.say(isOwn ? `created ${title}` : `${title} was created by someone else at the same time`);
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
