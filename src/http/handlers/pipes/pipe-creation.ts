/** The checks of a new pipe: create makes them before it creates, and validate makes them alone. */
import type { z } from "zod";
import type { createPipeBody } from "../../../api/pipes.ts";
import { AppError } from "../../../lib/errors.ts";
import type { PipeChecks, Reached } from "../../../pipes/control/definition/check.ts";
import { checkDefinition } from "../../../pipes/control/definition/definition.ts";
import { neighbourWarnings, refuseTakenTables } from "../../../pipes/control/definition/neighbours.ts";
import type { CheckRun } from "../../../sources/contract/checks.ts";
import { type OrganizationLimits, requireRoom } from "../../../store/database/limits.ts";
import type { NewPipe, PipeStore } from "../../../store/pipes/pipes.ts";
import type { Service } from "../../../store/services/services.ts";

export type CreationDeps = {
  readonly pipes: PipeStore;
  readonly checks: PipeChecks;
  readonly limits: OrganizationLimits;
};

type NewPipeRequest = {
  readonly organizationId: string;
  readonly service: Service;
  readonly body: z.output<typeof createPipeBody>;
  /** Called when only its source and its table are left to be checked. */
  readonly wellFormed?: (pipe: NewPipe) => void;
};

export type AcceptedPipe = Reached & { readonly pipe: NewPipe };

/**
 * Makes every check, and creates nothing. Undefined when one failed and the run goes on; otherwise throws the first
 * failure.
 */
export async function checkNewPipe(
  { pipes, checks, limits }: CreationDeps,
  { organizationId, service, body, wellFormed }: NewPipeRequest,
  run: CheckRun,
  signal: AbortSignal,
): Promise<AcceptedPipe | undefined> {
  const definition = await run.group("definition", () =>
    run.check("definition", () => checkDefinition(service.id, inDatabaseOf(service, body))),
  );
  const isRunning = await run.group("service", () =>
    run.check("service", () => refuseUnlessRunning(service, "creation")),
  );
  if (definition === undefined) return undefined;
  const { pipe, ...checked } = definition;
  const others = await pipes.listIn(service.id);
  await run.group("limits", () =>
    run.check("limits", async () => {
      requireReplicas(pipe.scaling, limits);
      await pipes.requireRoom(service.id, limits.pipes);
    }),
  );
  // Before the table itself is checked, which would not say whose it is.
  await run.group("neighbours", () => run.check("neighbours", () => refuseTakenTables(pipe, others)));
  if (isRunning === undefined) return undefined;
  wellFormed?.(pipe);
  const destination = { definition: pipe.destination, changed: pipe.destination.columns ?? [] };
  const request = {
    ...checked,
    organizationId,
    serviceId: service.id,
    destination,
    pipeId: undefined,
    settings: pipe.settings,
  };
  const reached = await run.group("service", () => checks.reachable(request, run, signal));
  if (reached === undefined) return undefined;
  const sampled = await checks.sampleWarnings(request, signal);
  return { ...reached, pipe, warnings: [...reached.warnings, ...neighbourWarnings(pipe, others), ...sampled] };
}

/** The connection of an external service may name the database of destinations without one. */
function inDatabaseOf({ connection }: Service, body: NewPipeRequest["body"]): NewPipeRequest["body"] {
  const database = body.destination.database ?? connection?.database;
  return database === undefined ? body : { ...body, destination: { ...body.destination, database } };
}

export function requireReplicas(scaling: Readonly<Record<string, number>>, limits: OrganizationLimits): void {
  requireRoom(limits.replicas, "replicas of the pipe", 0, scaling.replicas ?? 1);
}

/** Throws SERVICE_NOT_RUNNING: pipes need the service's engine, and wake none. */
export function refuseUnlessRunning(service: Service, what: "creation" | "update" | "discovery"): true {
  if (service.state === "running") return true;
  const message = `Pipe ${what} is allowed only when the service is running. Current state: ${service.state}`;
  throw new AppError("SERVICE_NOT_RUNNING", message);
}
