/** Pipes: handlers check and store what is asked for; the pipes supervisor makes it so. */
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { withoutNulls } from "../../api/operation.ts";
import type { Handlers, ManagementOperations } from "../../api/operations.ts";
import type { pipeDetails, pipeRecord } from "../../api/pipes.ts";
import { AppError, type Issue } from "../../lib/errors.ts";
import { remember } from "../../lib/remember.ts";
import { destinationIssues, mappingIssues, sourceArm, sourceIssues, splitSecrets } from "../../pipes/definition.ts";
import { mergeSecrets } from "../../pipes/job.ts";
import { connectorOf, type PreflightAccess, preflight } from "../../pipes/preflight.ts";
import { type SourceKindKey, sourceKinds } from "../../sources/registry.ts";
import type { JsonObject } from "../../sources/source.ts";
import type { Pipe, PipeChange, PipeDestination, PipeStore } from "../../store/pipes.ts";
import type { ServiceStore } from "../../store/services.ts";
import type { Context } from "../context.ts";

type Names = Extract<keyof ManagementOperations, `${string}Pipe${string}`>;
type PipeParams = { readonly organizationId: string; readonly serviceId: string; readonly pipeId: string };

export type PipeDeps = {
  readonly services: ServiceStore;
  readonly pipes: PipeStore;
  readonly acquire: PreflightAccess;
  readonly gauges: (pipeId: string) => Readonly<Record<string, number>>;
  readonly poke: () => void;
};

export function pipeHandlers(deps: PipeDeps): Pick<Handlers<ManagementOperations, Context>, Names> {
  const { pipes } = deps;
  const find = async (params: PipeParams): Promise<Pipe> => {
    await requireService(deps, params);
    const pipe = await pipes.findIn(params.serviceId, params.pipeId);
    if (pipe === undefined) throw new AppError("NOT_FOUND", `Pipe ${params.pipeId} does not exist.`);
    return pipe;
  };
  const changed = async (pipe: Pipe, change: PipeChange): Promise<Pipe> => {
    await pipes.change(pipe.id, change);
    deps.poke();
    return (await pipes.find(pipe.id)) as Pipe;
  };
  return {
    createPipe: async ({ params, body }, context) => {
      await requireRunning(deps, params, "creation");
      const id = await createPipe(deps, params.serviceId, withoutNulls(body), context.signal);
      deps.poke();
      return pipeView((await pipes.find(id)) as Pipe);
    },
    listPipes: async ({ params }) => {
      await requireService(deps, params);
      return pipeViews(await pipes.listIn(params.serviceId)) as z.input<typeof pipeRecord>[];
    },
    getPipe: async ({ params }) => {
      const pipe = await find(params);
      return pipeDetailsView(pipe, { ...(await pipes.counters(pipe.id)), ...deps.gauges(pipe.id) });
    },
    updatePipe: async ({ params, body }, context) => {
      const pipe = await find(params);
      await requireRunning(deps, params, "update");
      return pipeView(
        await changed(pipe, await patchOf(deps, pipe, withoutNulls(body), body.settings, context.signal)),
      );
    },
    deletePipe: async ({ params }) => {
      await changed(await find(params), { desiredState: "deleted" });
      return undefined;
    },
    updatePipeState: async ({ params, body }) => {
      const pipe = await find(params);
      if (body.command === "resync") return refuseResync(pipe);
      if (
        body.command === "start" &&
        pipe.desiredState === "running" &&
        !["Failed", "Completed"].includes(pipe.state)
      ) {
        throw new AppError("BAD_REQUEST", `${pipe.name}: the pipe is already running`);
      }
      return pipeView(await changed(pipe, { desiredState: body.command === "stop" ? "stopped" : "running" }));
    },
    updatePipeScaling: async ({ params, body }) => {
      const pipe = await find(params);
      return pipeView(await changed(pipe, { scaling: merged(pipe.scaling, body) as Record<string, number> }));
    },
    getPipeSettings: async ({ params }) => (await find(params)).settings,
    updatePipeSettings: async ({ params, body }) => {
      const pipe = await find(params);
      return (await changed(pipe, { settings: merged(pipe.settings, body) as Pipe["settings"] })).settings;
    },
  };
}

async function requireService(deps: PipeDeps, params: { organizationId: string; serviceId: string }) {
  const service = await deps.services.findIn(params.organizationId, params.serviceId);
  if (service === undefined) throw new AppError("NOT_FOUND", `Service ${params.serviceId} does not exist.`);
  return service;
}

async function requireRunning(deps: PipeDeps, params: { organizationId: string; serviceId: string }, what: string) {
  const { state } = await requireService(deps, params);
  if (state === "running") return;
  const message = `Pipe ${what} is allowed only when the service is running. Current state: ${state}`;
  throw new AppError("SERVICE_NOT_RUNNING", message);
}

type CreateBody = {
  name: string;
  source: Record<string, unknown>;
  destination: object;
  fieldMappings?: Pipe["fieldMappings"] | null | undefined;
  scaling?: object | null | undefined;
  settings?: object | null | undefined;
};

async function createPipe(deps: PipeDeps, serviceId: string, body: CreateBody, signal: AbortSignal): Promise<string> {
  const { validateSamples, ...arms } = body.source;
  const arm = sourceArm(arms);
  if ("issues" in arm) throw badRequest(arm.issues);
  const { kind } = arm;
  const config = arms[kind] as JsonObject;
  const { roles, ...destination } = body.destination as PipeDestination & { roles?: string[] };
  const fieldMappings = body.fieldMappings ?? [];
  refuse([...sourceIssues(kind, config), ...destinationIssues(kind, destination, fieldMappings)]);
  await connectorOf(kind);
  const checked = await preflight(
    { serviceId, kind, config, destination, fieldMappings, validateSamples: validateSamples === true },
    deps.acquire,
    signal,
  );
  const { shown, secrets } = splitSecrets(kind, config);
  return await deps.pipes.create({
    ...{ serviceId, name: body.name, sourceKind: kind, source: { [kind]: shown }, secrets, roles, fieldMappings },
    ...{ destination: checked, scaling: (body.scaling ?? {}) as Record<string, number> },
    settings: (body.settings ?? {}) as Pipe["settings"],
  });
}

type PatchBody = {
  name?: string | null | undefined;
  source?: Record<string, unknown> | null | undefined;
  destination?: { columns: { name: string; type: string }[] } | null | undefined;
  fieldMappings?: Pipe["fieldMappings"] | null | undefined;
};

/** What a patch changes. A null setting resets it, so settings are taken from the body as it was sent. */
async function patchOf(
  deps: PipeDeps,
  pipe: Pipe,
  body: PatchBody,
  settings: object | null | undefined,
  signal: AbortSignal,
): Promise<PipeChange> {
  const destination = body.destination ? { ...pipe.destination, columns: body.destination.columns } : pipe.destination;
  const fieldMappings = body.fieldMappings ?? pipe.fieldMappings;
  const kind = pipe.sourceKind as SourceKindKey;
  refuse(
    body.destination
      ? destinationIssues(kind, destination, fieldMappings)
      : mappingIssues(destination.columns ?? [], fieldMappings),
  );
  const change: PipeChange = {
    ...(body.name ? { name: body.name } : {}),
    ...(body.destination ? { destination } : {}),
    ...(body.fieldMappings ? { fieldMappings } : {}),
    ...(settings ? { settings: merged(pipe.settings, settings) as Pipe["settings"] } : {}),
  };
  if (!body.source) return change;
  const config = await patchedConfig(deps, pipe, kind, body.source);
  // The table exists by now: only the source is looked at again.
  const asExisting = { ...destination, managedTable: false };
  const validateSamples = body.source.validateSamples === true;
  await preflight(
    { serviceId: pipe.serviceId, kind, config, destination: asExisting, fieldMappings, validateSamples },
    deps.acquire,
    signal,
  );
  const { shown, secrets } = splitSecrets(kind, config);
  return { ...change, source: { [kind]: shown }, secrets };
}

/** Mutable members are merged over the stored ones; immutable members are tolerated only as they are. */
async function patchedConfig(
  deps: PipeDeps,
  pipe: Pipe,
  kind: SourceKindKey,
  source: Record<string, unknown>,
): Promise<JsonObject> {
  const arm = sourceArm({ ...source, validateSamples: undefined });
  if ("issues" in arm) throw badRequest(arm.issues);
  if (arm.kind !== kind) throw badRequest([{ path: `source.${arm.kind}`, message: `the pipe's source is ${kind}` }]);
  const given = source[kind] as Record<string, unknown>;
  const stored = pipe.source[kind] as Record<string, unknown>;
  const mutable: readonly string[] = sourceKinds[kind].mutable;
  refuse(
    Object.keys(given)
      .filter((member) => !mutable.includes(member) && !isDeepStrictEqual(given[member], stored[member]))
      .map((member) => ({ path: `source.${kind}.${member}`, message: "cannot be changed; create another pipe" })),
  );
  // A member sent back as it was shown stays as it is: a secret may be shown in a safe form.
  const changed = Object.entries(given).filter(([member, value]) => !isDeepStrictEqual(value, stored[member]));
  const kept = mergeSecrets(stored, await deps.pipes.secrets(pipe.id));
  const config = { ...kept, ...Object.fromEntries(changed) } as JsonObject;
  refuse(sourceIssues(kind, config));
  return config;
}

function refuseResync(pipe: Pipe): never {
  const message = `resync is only for relationalDb pipes; this one reads ${pipe.sourceKind}`;
  throw badRequest([{ path: "command", message }]);
}

/** Given members over stored ones; null removes a member. */
function merged(stored: object, given: object): object {
  return withoutNulls({ ...stored, ...given });
}

function refuse(issues: readonly Issue[]): void {
  if (issues.length > 0) throw badRequest(issues);
}

function badRequest(issues: readonly Issue[]): AppError {
  const text = issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
  return new AppError("BAD_REQUEST", `Invalid request body: ${text}`, { issues });
}

/** Lists are asked for often and change rarely; a frozen result is also turned into JSON only once. */
const pipeView = remember(viewOf);
const pipeViews = remember((pipes: readonly Pipe[]) => Object.freeze(pipes.map(pipeView)));

function viewOf(pipe: Pipe): z.input<typeof pipeRecord> {
  return {
    id: pipe.id,
    serviceId: pipe.serviceId,
    name: pipe.name,
    state: pipe.state,
    scaling: pipe.scaling,
    source: pipe.source,
    destination: pipe.destination as z.input<typeof pipeRecord>["destination"],
    fieldMappings: pipe.fieldMappings,
    settings: pipe.settings,
    createdAt: pipe.createdAt,
    updatedAt: pipe.updatedAt,
  };
}

function pipeDetailsView(pipe: Pipe, progress: Record<string, number>): z.input<typeof pipeDetails> {
  return { ...pipeView(pipe), ...(pipe.lastError === null ? {} : { lastError: pipe.lastError }), progress };
}
