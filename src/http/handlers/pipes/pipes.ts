/** Pipes: handlers check and write the desired state; the pipes supervisor carries it out. */

import type { z } from "zod";
import { withoutNulls } from "../../../api/operation.ts";
import type { pipeOperations } from "../../../api/pipes.ts";
import { placeOf, suggestionsFor, tablesOfSource } from "../../../charts/explore/suggestions.ts";
import { chartSourceRecordOf, sourceContent } from "../../../charts/sources.ts";
import { AppError, type Issue } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { checkChange, mergeSettings } from "../../../pipes/control/definition/changes.ts";
import type { PipeChecks } from "../../../pipes/control/definition/check.ts";
import { refuseTakenTables } from "../../../pipes/control/definition/neighbours.ts";
import { refuseSharedReading } from "../../../pipes/control/definition/shared-reading.ts";
import { connectorOf } from "../../../sources/connectors.ts";
import { CheckRun } from "../../../sources/contract/checks.ts";
import { kindOf } from "../../../sources/contract/registry.ts";
import type { TableProgress } from "../../../sources/contract/several-tables.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import { type ExpectedVersions, requireVersion } from "../../../store/database/versioned-rows.ts";
import type { Stores } from "../../../store/open.ts";
import type { NewPipe, Pipe } from "../../../store/pipes/pipes.ts";
import type { ChartSourceStore } from "../../../store/saved/chart-sources.ts";
import { listedPipeOf, type PipeFacts, pipeDetailsOf, pipeRecordOf } from "../../views/pipes.ts";
import { findPipe, findService, type Management, type ServiceParams } from "../lookups.ts";
import { type AfterAttempt, deletedOf } from "./leftovers.ts";
import { commandedChange } from "./pipe-commands.ts";
import { type AcceptedPipe, checkNewPipe, refuseUnlessRunning, requireReplicas } from "./pipe-creation.ts";
import { type PreparationHandlers, pipePreparationHandlers } from "./pipe-preparation.ts";

export type PipeDeps = Pick<Stores, "pipes" | "pipeOverviews" | "services" | "chartSources" | "leftovers"> & {
  readonly checks: PipeChecks;
  readonly limits: OrganizationLimits;
  /** A pipe that is to be created has only its source and its table left to be checked. */
  readonly expect: (organizationId: string, pipe: NewPipe) => void;
  /** Gauges of the running workers of a pipe. */
  readonly gauges: (pipeId: string) => Readonly<Record<string, number>>;
  /** What should be looked at at the source of a pipe without workers. */
  readonly sourceWarning: (pipeId: string) => string | undefined;
  readonly afterAttempt: AfterAttempt;
  /** Triggers a pass of the supervisor. */
  readonly poke: () => void;
};

type Params = { organizationId: string; serviceId: string };

type PipeParams = Params & { pipeId: string };

export function pipeHandlers(deps: PipeDeps): Management<keyof typeof pipeOperations> & PreparationHandlers {
  return {
    ...pipePreparationHandlers(deps),
    ...creationHandlers(deps),
    ...changeHandlers(deps),
    ...commandHandlers(deps),
  };
}

function creationHandlers(deps: PipeDeps): Management<"listPipes" | "createPipe"> {
  const { pipes } = deps;
  return {
    listPipes: async ({ params }) => {
      const { id } = await findService(deps, params);
      const counters = await deps.pipeOverviews.countersIn(id);
      return (await pipes.listIn(id)).map((pipe) => listedPipeOf(pipe, counters.get(pipe.id) ?? {}));
    },
    createPipe: async ({ params, body }, { signal }) => {
      const service = await findService(deps, params);
      const { organizationId } = params;
      const startPaused = body.startPaused === true;
      const wellFormed = (pipe: NewPipe) => deps.expect(organizationId, { ...pipe, startPaused });
      const request = { organizationId, service, body, wellFormed };
      const { pipe, warnings } = (await checkNewPipe(deps, request, new CheckRun(), signal)) as AcceptedPipe;
      const wanted = { ...pipe, startPaused };
      const pipeId = await pipes.create(wanted, deps.limits.pipes, (now) => refuseTakenTables(pipe, now));
      const uncharted = await registerChartSources(deps, organizationId, pipe);
      return answerOf(await changed(deps, { ...params, pipeId }), [...warnings, ...uncharted]);
    },
  };
}

function changeHandlers(
  deps: PipeDeps,
): Management<"getPipe" | "updatePipe" | "deletePipe" | "getPipeSettings" | "updatePipeSettings"> {
  const { pipes } = deps;
  return {
    getPipe: async ({ params }) => {
      const pipe = await findPipe(deps, params);
      const counters = await pipes.counters(pipe.id);
      return pipeDetailsOf(pipe, counters, deps.gauges(pipe.id), await factsOf(deps, pipe));
    },
    updatePipe: async ({ params, body }, { signal, expected }) => {
      for (let attempt = 1; ; attempt += 1) {
        const pipe = await findPipe(deps, params);
        const made = await updated(deps, pipe, { params, body, expected }, signal);
        if (made !== "changed meanwhile") return made;
        if (attempt === maxAttempts) {
          throw new AppError("CONFLICT", `${pipe.name}: other requests change the pipe all the time; repeat this one`);
        }
      }
    },
    deletePipe: async ({ params }, { signal, expected }) => {
      const { id } = await findPipe(deps, params);
      await pipes.change(id, { desiredState: "deleted" }, expected);
      deps.poke();
      const isGone = async () => (await pipes.find(id)) === undefined;
      return await deletedOf(deps.afterAttempt, { list: () => deps.leftovers.ofPipe(id), isGone }, signal);
    },
    getPipeSettings: async ({ params }) => (await findPipe(deps, params)).settings,
    updatePipeSettings: async ({ params, body }, { expected }) => {
      const pipe = await findPipe(deps, params);
      const settings = mergeSettings(pipe.settings, body);
      await checkSettings(deps, params, settings);
      await pipes.change(pipe.id, { settings }, expected);
      return (await changed(deps, params)).settings;
    },
  };
}

/** Attempts at a change that others overtake. */
const maxAttempts = 5;

type Update = {
  readonly params: PipeParams;
  readonly body: z.output<typeof pipeOperations.updatePipe.body>;
  readonly expected: ExpectedVersions;
};

/** The changed pipe. A change is made of what the pipe has: it applies to the version that was read, or not at all. */
async function updated(deps: PipeDeps, pipe: Pipe, { params, body, expected }: Update, signal: AbortSignal) {
  const { pipes } = deps;
  // Also at the end: the source is asked in between.
  requireVersion("pipe", pipe.version, expected);
  const { change, ...checked } = checkChange(pipe, await pipes.secrets(pipe.id), body);
  if (Object.keys(change).length === 0) return pipeRecordOf(pipe);
  await checkSettings(deps, params, change.settings);
  let warnings: readonly Issue[] = [];
  if (checked.config !== undefined || checked.destination !== undefined || checked.validateSamples) {
    refuseUnlessRunning(await findService(deps, params), "update");
    const { organizationId } = params;
    const stored = pipe.source[pipe.sourceKind] as JsonObject;
    const request = { ...checked, organizationId, serviceId: pipe.serviceId, pipeId: pipe.id, stored };
    ({ warnings } = await deps.checks.reachable(request, new CheckRun(), signal));
  }
  const { source } = change;
  const accept = source && ((others: readonly Pipe[]) => refuseTakenTables({ ...pipe, source }, others, pipe));
  try {
    await pipes.change(pipe.id, change, expected ?? [pipe.version], accept);
  } catch (error) {
    const isOvertaken = error instanceof AppError && error.code === "PRECONDITION_FAILED";
    if (isOvertaken && expected === undefined) return "changed meanwhile";
    throw error;
  }
  return answerOf(await changed(deps, params), warnings);
}

function commandHandlers(deps: PipeDeps): Management<"updatePipeState" | "updatePipeScaling"> {
  const { pipes } = deps;
  return {
    updatePipeState: async ({ params, body }, { expected }) => {
      const pipe = await findPipe(deps, params);
      await pipes.change(pipe.id, await commandedChange(pipe, body, pipes), expected);
      return pipeRecordOf(await changed(deps, params));
    },
    updatePipeScaling: async ({ params, body }, { expected }) => {
      const pipe = await findPipe(deps, params);
      const scaling = withoutNulls({ ...pipe.scaling, ...body }) as Record<string, number>;
      if ((scaling.replicas ?? 1) > (pipe.scaling.replicas ?? 1)) requireReplicas(scaling, deps.limits);
      await pipes.change(pipe.id, { scaling }, expected);
      return pipeRecordOf(await changed(deps, params));
    },
  };
}

async function checkSettings(
  deps: PipeDeps,
  params: ServiceParams,
  settings: Pipe["settings"] | undefined,
): Promise<void> {
  if ((await findService(deps, params)).connection?.cluster !== undefined) refuseSharedReading(settings);
}

/** The pipe after a change, which pokes the supervisor. */
async function changed(deps: PipeDeps, params: PipeParams): Promise<Pipe> {
  deps.poke();
  return await findPipe(deps, params);
}

async function factsOf({ pipes, sourceWarning }: PipeDeps, pipe: Pipe): Promise<PipeFacts> {
  const { tables, resync, secrets } = kindOf(pipe.sourceKind);
  const kept = tables?.(pipe.source[pipe.sourceKind] as JsonObject, await pipes.marksFrom(pipe.id, "table:"));
  const { lostMark } = resync ?? {};
  const isSealed = pipe.state === "Failed" && (await pipes.secrets(pipe.id)) === undefined;
  return {
    tables: kept?.map((table) => afterCommand(table, pipe)),
    isLost: lostMark !== undefined && (await pipes.marksFrom(pipe.id, lostMark))[lostMark] === true,
    needsSecrets: isSealed ? secrets : undefined,
    sourceWarning: sourceWarning(pipe.id),
  };
}

/** A table that is asked to start over is shown so at once. */
function afterCommand(table: TableProgress, { resyncTables }: Pipe): TableProgress {
  const { targetTable, sourceTable } = table;
  return resyncTables.includes(targetTable) ? { targetTable, sourceTable, state: "Setup" } : table;
}

function answerOf(pipe: Pipe, warnings: readonly Issue[]) {
  return { ...pipeRecordOf(pipe), ...(warnings.length === 0 ? {} : { warnings: [...warnings] }) };
}

/** Sources of charts for tables that a new pipe creates, so that charts of them need no further configuration. */
type Deps = {
  readonly chartSources: Pick<ChartSourceStore, "create" | "list">;
  readonly limits: Pick<OrganizationLimits, "chartSources">;
};

/** Leaves tables out that a source reads already. Returns what could not be registered. */
async function registerChartSources(deps: Deps, organizationId: string, pipe: NewPipe): Promise<Issue[]> {
  const { sourceKind, source, destination, serviceId } = pipe;
  const layout = (await connectorOf(sourceKind)).createdTables?.(source[sourceKind] as JsonObject) ?? [];
  if (layout.length === 0) return [];
  const { database = "default" } = destination;
  const records = (await deps.chartSources.list(organizationId)).map(chartSourceRecordOf);
  const used = new Set(records.filter((record) => record.serviceId === serviceId).flatMap(tablesOfSource));
  const free = layout.filter(({ table }) => !used.has(placeOf(database, table)));
  try {
    for (const body of suggestionsFor(
      free.map((table) => ({ ...table, database })),
      serviceId,
    )) {
      await deps.chartSources.create(organizationId, sourceContent(body), deps.limits.chartSources);
    }
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "LIMIT_REACHED") throw error;
    return [{ path: "source", message: `not every table of the pipe has a chart source: ${error.message}` }];
  }
}
