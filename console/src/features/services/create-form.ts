/** The form of a new service, and the request that it makes. */
import type { CallInput } from "../../api/client.ts";
import { thisMachine } from "../../lib/this-machine.ts";
import { typedNumber } from "../../lib/typed-number.ts";

export type ServiceForm = {
  readonly name: string;
  /** GiB; empty: the server's default. */
  readonly memory: string;
  readonly disk: string;
  readonly tags: string;
  readonly idle: boolean;
  readonly idleMinutes: string;
  readonly access: "machine" | "anywhere" | "list";
  readonly addresses: string;
  readonly backupId: string | undefined;
  readonly restorePipes: "none" | "stopped" | "running";
  readonly force: boolean;
};

export const defaultForm: ServiceForm = {
  name: "",
  memory: "",
  disk: "",
  tags: "",
  idle: true,
  idleMinutes: "15",
  access: "machine",
  addresses: "",
  backupId: undefined,
  restorePipes: "stopped",
  force: false,
};

type Body = CallInput<"createService">["body"];

export function serviceBodyOf(form: ServiceForm): Body {
  const memory = form.memory === "" ? undefined : typedNumber(form.memory);
  const tags = tagsOf(form.tags);
  return {
    name: form.name,
    ...(memory === undefined ? {} : { minReplicaMemoryGb: memory, maxReplicaMemoryGb: memory }),
    ...(form.disk.trim() === "" ? {} : { diskGb: typedNumber(form.disk) }),
    ...(tags.length === 0 ? {} : { tags }),
    idleScaling: form.idle,
    ...(form.idle ? { idleTimeoutMinutes: typedNumber(form.idleMinutes) } : {}),
    ...(form.access === "anywhere" ? {} : { ipAccessList: accessListOf(form) }),
    ...(form.backupId === undefined
      ? {}
      : { backupId: form.backupId, restorePipes: form.restorePipes, ...(form.force ? { force: true } : {}) }),
  };
}

/** The entries of the access list. */
export function accessListOf({ access, addresses }: ServiceForm): { source: string; description: string }[] {
  if (access === "machine") return thisMachine;
  const lines = addresses.split(/[\n,]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").map((source) => ({ source, description: "" }));
}

/** `a=1, b` as tags. */
export function tagsOf(text: string): { key: string; value?: string }[] {
  const parts = text.split(",").map((part) => part.trim());
  return parts
    .filter((part) => part !== "")
    .map((part) => {
      const [key = "", ...value] = part.split("=");
      return value.length === 0 ? { key: key.trim() } : { key: key.trim(), value: value.join("=").trim() };
    });
}
