/** The marks of objects that `apply` has made: tags of their service, which --prune asks for. */
import type { CliClient } from "../client/client.ts";
import { CliError } from "../errors.ts";
import type { Shell } from "../shell.ts";
import { labelPrefix } from "./current.ts";
import type { CurrentObject } from "./files.ts";
import type { PlannedStep } from "./plan.ts";

/** Marks an object. A key that may not do so goes on: the object is then never pruned. */
export async function addLabel(
  shell: Shell,
  client: CliClient,
  serviceId: string,
  kind: "service" | "pipe" | "source",
  id: string,
  set: string,
): Promise<void> {
  try {
    const tags = { add: [{ key: `${labelPrefix}${kind}.${id}`, value: set }] };
    await client.call("updateService", { params: { serviceId }, body: { tags } });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    shell.say(`${kind} ${id} has no mark, so --prune will not delete it: ${error.message}`);
  }
}

/** Objects that `apply` made from this set of files and that no step is about. */
export async function orphans(
  client: CliClient,
  existing: readonly CurrentObject[],
  steps: readonly PlannedStep[],
  set: string,
): Promise<CurrentObject[]> {
  const services = await client.call("listServices", {});
  const marked = new Set(
    services.flatMap(({ tags }) => tags.filter(({ value }) => value === set).map(({ key }) => key)),
  );
  const kept = new Set(steps.map((step) => ("current" in step ? step.current : undefined)));
  return existing
    .filter((one) => marked.has(`${labelPrefix}${one.kind.toLowerCase()}.${one.id}`))
    .filter((one) => !kept.has(one))
    .toReversed();
}
