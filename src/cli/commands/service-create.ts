/** Creating and changing services. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { CliClient } from "../client/client.ts";
import { findBackup, resolveService, type ServiceObject } from "../client/resolve.ts";
import { usageError } from "../errors.ts";
import { choiceFlag, durationMs, integerFlag, orUndefined, pairFlag, present } from "../flags.ts";
import { isForPeople, isNameOnly } from "../output/format.ts";
import type { Shell } from "../shell.ts";
import { checkWait, type WaitFlags } from "../wait.ts";
import { type ConnectionFlags, changedConnection, externalBody } from "./service-external.ts";
import { awaitService } from "./service-state.ts";
import { endpointOf, printService } from "./service-view.ts";

type Settings = {
  readonly memory?: string;
  readonly replicas?: string;
  readonly idle?: string;
  readonly allow?: readonly string[];
  readonly tag?: readonly string[];
  readonly port?: string;
  readonly disk?: string;
  readonly releaseChannel?: string;
};

type CreateFlags = Settings &
  ConnectionFlags &
  WaitFlags & {
    readonly kubernetes?: boolean;
    readonly fromBackup?: string;
    readonly pipes?: string;
    readonly force?: boolean;
    readonly passwordFile?: string;
  };

/** `service create`. */
export async function createService(shell: Shell, name: string, flags: CreateFlags): Promise<void> {
  checkWait(flags);
  if (flags.kubernetes === true && flags.external !== undefined) {
    throw usageError("--kubernetes and --external cannot be combined");
  }
  const client = await shell.client();
  const external = await externalBody(shell, flags, flags.passwordFile);
  const created = await client.call("createService", {
    body: { ...(await createBody(client, name, flags)), ...external },
  });
  const { service, password } = created;
  const same = (await client.call("listServices", {})).filter((one) => one.name === name && one.id !== service.id);
  if (same.length > 0) {
    const others = same.map(({ id }) => id).join(", ");
    shell.say(
      `warning: another service is named ${name}, too (${others}): commands need the id of the one that is meant`,
    );
  }
  const file = external === undefined ? flags.passwordFile : undefined;
  if (file !== undefined) {
    writeFileSync(resolve(shell.io.cwd, file), `${password}\n`, { mode: 0o600, flag: "wx" });
  }
  const shown = file === undefined ? password : undefined;
  if (flags.wait === true) await awaitService(shell, service, "running", flags);
  if (!isForPeople(shell.format)) {
    if (shown !== undefined && isNameOnly(shell.format)) {
      shell.say(
        `-o ${shell.format} does not show the password; millrace service password ${service.name} makes a new one`,
      );
    }
    return await shell.printOne(shown === undefined ? { service } : created, []);
  }
  shell.say(`created ${service.name} (${service.id})`);
  await shell.printOne(undefined, [
    ["endpoint", endpointOf(service)],
    ["user", service.endpoints[0]?.username],
    ["password", shown],
  ]);
  if (shown !== undefined) shell.say("The password is not shown again.");
}

async function createBody(client: CliClient, name: string, flags: CreateFlags) {
  const backup = flags.fromBackup === undefined ? undefined : await findBackup(client, flags.fromBackup);
  const restorePipes = choiceFlag("--pipes", flags.pipes, ["none", "stopped", "running"]);
  return present({
    name,
    ...scalingOf(flags),
    ...commonOf(flags),
    runtime: flags.kubernetes === true ? ("kubernetes" as const) : undefined,
    ipAccessList: flags.allow?.map((source) => ({ source })),
    tags: flags.tag?.map(tagOf),
    backupId: backup?.id,
    restorePipes,
    force: flags.force,
  });
}

type UpdateFlags = Settings &
  ConnectionFlags & {
    readonly passwordFile?: string;
    readonly name?: string;
    readonly removeAllow?: readonly string[];
    readonly removeTag?: readonly string[];
  };

/** `service update`: sends only what the flags name. */
export async function updateService(shell: Shell, reference: string, flags: UpdateFlags): Promise<void> {
  const client = await shell.client();
  const found = await resolveService(client, reference);
  const params = { serviceId: found.id };
  const scaling = orUndefined(scalingOf(flags));
  const body = orUndefined(
    present({
      name: flags.name,
      ...commonOf(flags),
      ipAccessList: accessChange(flags),
      tags: tagChange(found, flags),
      connection: await changedConnection(shell, flags, flags.passwordFile),
    }),
  );
  if (scaling === undefined && body === undefined) throw usageError("nothing to change", "See --help for the flags.");
  if (scaling !== undefined) await client.call("updateServiceScaling", { params, body: scaling });
  if (body !== undefined) await client.call("updateService", { params, body });
  const service = await client.call("getService", { params });
  if (!isForPeople(shell.format)) return await printService(shell, service);
  shell.say(`changed ${service.name}`);
}

function accessChange({ allow, removeAllow }: UpdateFlags) {
  const add = allow?.map((source) => ({ source }));
  return orUndefined(present({ add, remove: removeAllow?.map((source) => ({ source })) }));
}

function tagChange({ tags }: ServiceObject, { tag, removeTag }: UpdateFlags) {
  const remove = removeTag?.map((key) => present({ key, value: tags.find((one) => one.key === key)?.value }));
  return orUndefined(present({ add: tag?.map(tagOf), remove }));
}

function scalingOf({ memory, replicas, idle }: Settings) {
  const gb = integerFlag("--memory", memory);
  const minutes = idle === undefined || idle === "never" ? undefined : Math.round(durationMs(idle, "--idle") / 60_000);
  return present({
    minReplicaMemoryGb: gb,
    maxReplicaMemoryGb: gb,
    numReplicas: integerFlag("--replicas", replicas),
    idleScaling: idle === undefined ? undefined : idle !== "never",
    idleTimeoutMinutes: minutes,
  });
}

function commonOf({ port, disk, releaseChannel }: Settings) {
  return present({
    port: integerFlag("--port", port),
    diskGb: integerFlag("--disk", disk),
    releaseChannel: choiceFlag("--release-channel", releaseChannel, ["slow", "default", "fast"]),
  });
}

function tagOf(text: string): { key: string; value?: string } {
  if (!text.includes("=")) return { key: text };
  const [key, value] = pairFlag("--tag", text);
  return { key, value };
}
