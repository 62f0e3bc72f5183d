/** Objects by name, id or unique prefix. */
import { nearMatches } from "../../lib/near-matches.ts";
import { CliError, exitCodes } from "../errors.ts";
import type { CliClient, OperationResult } from "./client.ts";

type Named = { readonly id: string; readonly name: string };

/**
 * The object whose id or name is `reference`; else the only one whose name or id begins with it. Exit codes of what it
 * throws: 2 with the candidates if there are several, 5 if there is none.
 */
export function pick<T extends Named>(what: string, reference: string, candidates: readonly T[]): T {
  const matches = (test: (text: string) => boolean) => candidates.filter(({ id, name }) => test(id) || test(name));
  const exact = matches((text) => text === reference);
  const found = exact.length > 0 ? exact : reference === "" ? [] : matches((text) => text.startsWith(reference));
  const [only] = found;
  if (only === undefined) throw missing(what, reference, candidates);
  if (found.length === 1) return only;
  throw new CliError(`${what} ${reference} is ambiguous`, {
    exitCode: exitCodes.usage,
    code: "AMBIGUOUS",
    issues: found.map(({ id, name }) => ({ path: id, message: name })),
    hint: "Use the id.",
  });
}

function missing(what: string, reference: string, candidates: readonly Named[]): CliError {
  const near = nearMatches(
    reference,
    candidates.map(({ name }) => name),
  );
  return new CliError(`there is no ${what} ${reference}`, {
    exitCode: exitCodes.notFound,
    code: "NOT_FOUND",
    hint: near.length === 0 ? undefined : `Did you mean ${near.join(" or ")}?`,
  });
}

export type ServiceObject = OperationResult<"listServices">[number];

/** The service with this name, id or unique prefix. */
export async function resolveService(client: CliClient, reference: string): Promise<ServiceObject> {
  return pick("service", reference, await client.call("listServices", {}));
}

/** The service; without a reference the only one there is. */
export async function resolveServiceOrOnly(client: CliClient, reference: string | undefined): Promise<ServiceObject> {
  const services = await client.call("listServices", {});
  if (reference !== undefined) return pick("service", reference, services);
  const [only] = services;
  if (services.length === 1 && only !== undefined) return only;
  throw new CliError(only === undefined ? "there is no service" : "name a service", {
    exitCode: only === undefined ? exitCodes.notFound : exitCodes.usage,
    code: only === undefined ? "NOT_FOUND" : "USAGE",
    hint:
      only === undefined
        ? "millrace service create NAME"
        : `Services: ${services.map((one) => distinctName(one, services)).join(", ")}`,
  });
}

/** With the id where others have the same name. */
function distinctName({ id, name }: Named, all: readonly Named[]): string {
  return all.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name;
}

export type PipeObject = OperationResult<"listPipes">[number] & { readonly serviceName: string };

/** The pipes of all services, or of one. */
export async function listPipesOf(client: CliClient, services: readonly Named[]): Promise<PipeObject[]> {
  const lists = services.map(async ({ id: serviceId, name: serviceName }) => {
    const pipes = await client.call("listPipes", { params: { serviceId } });
    return pipes.map((pipe) => ({ ...pipe, serviceName }));
  });
  return (await Promise.all(lists)).flat();
}

export type PipeSummary = OperationResult<"listAllPipes">["pipes"][number];

export type PipeFilter = { readonly state?: readonly string[]; readonly kind?: string; readonly serviceId?: string };

/** The pipes of all services with rates and lag, on all pages. */
export async function listSummaries(
  client: CliClient,
  filter: PipeFilter = {},
  order: { readonly sort?: string; readonly order?: string } = {},
): Promise<PipeSummary[]> {
  const found: PipeSummary[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { ...filter, ...order, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) };
    const page = await client.call("listAllPipes", { query: query as never });
    found.push(...page.pipes);
    if (page.nextCursor === undefined) return found;
    cursor = page.nextCursor;
  }
}

/**
 * The pipe of `PIPE` or `SERVICE/PIPE`. A name may have a slash itself: the whole text is tried first.
 */
export async function findPipe(client: CliClient, reference: string): Promise<PipeSummary> {
  const pipes = await listSummaries(client);
  const slash = reference.indexOf("/");
  const isWhole = pipes.some(({ id, name }) => id === reference || name === reference);
  if (slash < 1 || isWhole) return pick("pipe", reference, pipes);
  const service = await resolveService(client, reference.slice(0, slash));
  const own = pipes.filter(({ serviceId }) => serviceId === service.id);
  return pick("pipe", reference.slice(slash + 1), own);
}

export type BackupObject = OperationResult<"listAllBackups">[number];

/** The backup with this id, name or unique prefix; `latest:SERVICE` is the newest finished one of a service. */
export async function findBackup(client: CliClient, reference: string): Promise<BackupObject> {
  const backups = await client.call("listAllBackups", {});
  if (reference.startsWith("latest:")) {
    const service = await resolveService(client, reference.slice("latest:".length));
    const newest = backups.find(({ serviceId, status }) => serviceId === service.id && status === "done");
    if (newest !== undefined) return newest;
    throw new CliError(`service ${service.name} has no finished backup`, {
      exitCode: exitCodes.notFound,
      code: "NOT_FOUND",
      hint: `millrace backup create ${service.name} --wait`,
    });
  }
  return pick(
    "backup",
    reference,
    backups.map((backup) => ({ ...backup, name: backup.backupName })),
  );
}
