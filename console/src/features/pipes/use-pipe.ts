/** The pipe of the address: its definition, and the numbers that the list of pipes has of it. */
import { useParams } from "@tanstack/react-router";
import { kindKeyOf, sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import type { SourceField } from "../../../../src/sources/contract/fields.ts";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import type { PipeKind, PipeState, PipeSummary } from "./list-search.ts";

export type PipeDetails = OperationResult<"getPipe">;

const changing: readonly PipeState[] = ["Provisioning", "Setup", "Pausing", "Stopping", "Modifying", "Resync"];

export function usePipeParams(): { readonly serviceId: string; readonly pipeId: string } {
  const { serviceId = "", pipeId = "" } = useParams({ strict: false });
  return { serviceId, pipeId };
}

/** Read twice as often while its state is about to change. */
export function usePipe() {
  const params = usePipeParams();
  return useOperation(
    "getPipe",
    { params },
    { pace: (pipe) => (pipe !== undefined && changing.includes(pipe.state) ? "fast" : "live") },
  );
}

/** Rates, lag, last success and last error; undefined until they are known. */
export function usePipeSummary(pipe: PipeDetails | undefined): PipeSummary | undefined {
  const query = { serviceId: pipe?.serviceId, name: pipe?.name, limit: 100 };
  const list = useOperation("listAllPipes", { query: query as never }, { enabled: pipe !== undefined, keep: true });
  return list.data?.pipes.find(({ id }) => id === pipe?.id);
}

/** The kind of the pipe's source, which each has. */
export function kindOf({ source }: PipeDetails): PipeKind {
  return kindKeyOf(source) as PipeKind;
}

/** In a form of a description. */
const member = /\{(\w+)\}/g;

/** The topic, bucket, stream or database in a few words. */
export function sourceText(pipe: PipeDetails): string {
  const kind = kindOf(pipe);
  const members = (pipe.source[kind] ?? {}) as Record<string, unknown>;
  const { named, fields }: { named: readonly string[]; fields: readonly SourceField[] } = sourceDescriptions[kind];
  const isThere = (form: string) => [...form.matchAll(member)].every(([, name = ""]) => members[name] != null);
  const form = named.find(isThere) ?? "";
  return form.replaceAll(member, (_, name: string) => {
    const { options } = fields.find(({ path }) => path === name) ?? {};
    return options?.find(({ value }) => value === members[name])?.label ?? String(members[name]);
  });
}
