/** Changes one object that exists, by the operations that its kind has. */

import { kindKeyOf, sourceDescriptions } from "../../sources/contract/descriptions.ts";
import type { CliClient } from "../client/client.ts";
import { orUndefined } from "../flags.ts";
import type { Comparison } from "./compare.ts";
import type { CurrentObject, WantedObject } from "./files.ts";

type Spec = Readonly<Record<string, unknown>>;

/** The server wants the secrets again with one of these: those that it has are for the address before. */
const addresses = /^(connection\.urls|source\.\w+\.(brokers|host|port))$/;

/** Sends only what differs; with `secrets`, and for another address, the secrets of the file too. */
export async function changeObject(
  client: CliClient,
  wanted: WantedObject,
  current: CurrentObject,
  comparison: Comparison,
  updateSecrets: boolean,
): Promise<void> {
  const { spec, kind, name } = wanted;
  const secrets = updateSecrets || comparison.changes.some(({ path }) => addresses.test(path));
  const changed = new Set(comparison.changes.map(({ path }) => path.split(".")[0] as string));
  if (kind === "Service") return await changeService(client, current, spec, changed, secrets);
  if (kind === "Pipe") return await changePipe(client, current, wanted, changed, secrets);
  const body = Object.fromEntries(Object.entries(spec).filter(([key]) => changed.has(key)));
  if (kind === "BackupSchedule") {
    await client.call("updateBackupConfiguration", { params: { serviceId: current.id }, body });
  } else if (kind === "Source") {
    const whole = { ...current.spec, ...spec, name, serviceId: current.serviceId };
    await client.call("replaceSource", { params: { id: current.id }, body: whole as never });
  } else if (changed.size > 0) {
    await client.call("updateKey", { params: { keyId: current.id }, body: body as never });
  }
}

const scalingNames = ["minReplicaMemoryGb", "maxReplicaMemoryGb", "numReplicas", "idleScaling", "idleTimeoutMinutes"];
const plainNames = ["diskGb", "port", "releaseChannel"];
/** What a service can change. */
export const serviceMembers: readonly string[] = [...scalingNames, ...plainNames, "ipAccessList", "connection", "tags"];

async function changeService(
  client: CliClient,
  current: CurrentObject,
  spec: Spec,
  changed: ReadonlySet<string>,
  secrets: boolean,
): Promise<void> {
  const params = { serviceId: current.id };
  const picked = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => changed.has(name)).map((name) => [name, spec[name]]));
  const scaling = orUndefined(picked(scalingNames));
  const body: Record<string, unknown> = picked(plainNames);
  if (changed.has("ipAccessList"))
    body.ipAccessList = listChange(current.spec.ipAccessList, spec.ipAccessList, "source");
  const { password, ...connection } = (spec.connection ?? {}) as Spec;
  if (changed.has("connection")) body.connection = connection;
  if (secrets && password !== undefined) body.connection = { ...(body.connection as Spec | undefined), password };
  if (changed.has("tags")) body.tags = listChange(current.spec.tags, spec.tags, "key");
  if (scaling !== undefined) await client.call("updateServiceScaling", { params, body: scaling });
  if (Object.keys(body).length > 0) await client.call("updateService", { params, body });
}

type Item = Readonly<Record<string, unknown>>;

/** Items to add and to remove; one with another value is both. */
function listChange(from: unknown, to: unknown, key: string): { add: Item[]; remove: Item[] } {
  const [before, after] = [(from ?? []) as Item[], (to ?? []) as Item[]];
  const text = (item: Item) => JSON.stringify([item[key], item.value ?? item.description ?? ""]);
  const has = (items: readonly Item[], item: Item) => items.some((other) => text(other) === text(item));
  return { add: after.filter((item) => !has(before, item)), remove: before.filter((item) => !has(after, item)) };
}

async function changePipe(
  client: CliClient,
  { id: pipeId, serviceId = "" }: CurrentObject,
  { spec }: WantedObject,
  changed: ReadonlySet<string>,
  secrets: boolean,
): Promise<void> {
  const params = { serviceId, pipeId };
  const body: Record<string, unknown> = {};
  if (changed.has("source") || secrets)
    body.source = changedSource(spec.source as Spec, changed.has("source"), secrets);
  if (changed.has("destination")) body.destination = { columns: (spec.destination as Spec).columns };
  if (changed.has("fieldMappings") || changed.has("destination")) body.fieldMappings = spec.fieldMappings;
  if (changed.has("settings")) await client.call("updatePipeSettings", { params, body: spec.settings as never });
  if (changed.has("scaling")) await client.call("updatePipeScaling", { params, body: spec.scaling as never });
  if (Object.values(body).some((member) => member !== undefined)) await client.call("updatePipe", { params, body });
}

/** The members of the source that a pipe can change. */
function changedSource(source: Spec | undefined, changed: boolean, secrets: boolean): Spec | undefined {
  const key = kindKeyOf(source ?? {});
  if (key === undefined) return undefined;
  const { mutable, secrets: secretPaths } = sourceDescriptions[key];
  const kept = Object.entries(source?.[key] as Spec).filter(([name]) => {
    if (!mutable.includes(name)) return false;
    return secretPaths.includes(name) ? secrets : changed;
  });
  return kept.length === 0 ? undefined : { [key]: Object.fromEntries(kept) };
}
