/** `--selector`: services by their tags, and pipes by the tags of their services. */
import type { Command } from "commander";
import type { CliClient } from "./client/client.ts";
import { listSummaries, type PipeFilter, type PipeSummary, type ServiceObject } from "./client/resolve.ts";
import { CliError, exitCodes, usageError } from "./errors.ts";

type Tags = readonly { readonly key: string; readonly value?: string | undefined }[];
type Requirement = (tags: Tags) => boolean;

/** Adds `--selector`. */
export function addSelectorFlag(command: Command, what: string): Command {
  return command.option("-l, --selector <tags>", `${what}: key=value, key!=value or key; all of a comma list hold`);
}

/** Tests tags. Throws a usage error for a text that is not a selector. */
export function selectorOf(text: string): Requirement {
  const requirements = text.split(",").map((part) => requirementOf(part.trim(), text));
  return (tags) => requirements.every((requirement) => requirement(tags));
}

function requirementOf(part: string, text: string): Requirement {
  const [, key = "", sign, value = ""] = /^([^=!]+?)(?:(!?=)(.*))?$/.exec(part) ?? [];
  if (key === "") throw usageError(`--selector ${text}: must be key=value, key!=value or key, separated by commas`);
  if (sign === undefined) return (tags) => tags.some((tag) => tag.key === key);
  const isEqual = (tags: Tags) => tags.some((tag) => tag.key === key && (tag.value ?? "") === value);
  return sign === "=" ? isEqual : (tags) => !isEqual(tags);
}

/** The services whose tags the selector names. Exit code 5 if there is none. */
export async function selectServices(client: CliClient, selector: string): Promise<ServiceObject[]> {
  const matches = selectorOf(selector);
  const found = (await client.call("listServices", {})).filter(({ tags }) => matches(tags));
  if (found.length === 0) throw nothingSelected(selector);
  return found;
}

/** The pipes of these services. Exit code 5 if there is no such service; services may have no pipes. */
export async function selectPipes(
  client: CliClient,
  selector: string,
  filter: PipeFilter = {},
  order: { readonly sort?: string; readonly order?: string } = {},
): Promise<PipeSummary[]> {
  const ids = new Set((await selectServices(client, selector)).map(({ id }) => id));
  return (await listSummaries(client, filter, order)).filter(({ serviceId }) => ids.has(serviceId));
}

function nothingSelected(selector: string): CliError {
  return new CliError(`no service has the tags ${selector}`, {
    exitCode: exitCodes.notFound,
    code: "NOT_FOUND",
    hint: "millrace service update NAME --tag key=value",
  });
}
