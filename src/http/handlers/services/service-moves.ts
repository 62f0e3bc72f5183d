/** Moves of services: handlers check and request, the services room carries out. */

import type { z } from "zod";
import { traitsOf } from "../../../api/runtimes.ts";
import type { serverConnection } from "../../../api/service-connections.ts";
import { moveRecord, type serviceMoveOperations } from "../../../api/service-moves.ts";
import { AppError, badRequest, found } from "../../../lib/errors.ts";
import type { MovePlan, Moves } from "../../../services/moves/moves.ts";
import type { Stores } from "../../../store/open.ts";
import type { ServiceConnection } from "../../../store/services/service-connections.ts";
import type { ServiceMove, ServiceMoves } from "../../../store/services/service-moves.ts";
import type { Service } from "../../../store/services/services.ts";
import { viewOf } from "../../views/view-of.ts";
import { findService, type Management, type ServiceParams } from "../lookups.ts";
import type { ConnectionDeps } from "./external-services.ts";

type Deps = ConnectionDeps &
  Pick<Stores, "services" | "serviceMoves" | "restores"> & {
    readonly planMove: Moves["plan"];
    /** Triggers a pass of the loops. */
    readonly poke: () => void;
  };

type Target = { readonly connection: ServiceConnection; readonly password: string };
type TargetBody = {
  readonly connection?: z.output<typeof serverConnection> | undefined;
  readonly targetServiceId?: string | undefined;
};

export function serviceMoveHandlers(deps: Deps): Management<keyof typeof serviceMoveOperations> {
  const { serviceMoves } = deps;
  const latest = async (serviceId: string) =>
    recordOf(found(await serviceMoves.latestOf(serviceId), "Move of service", serviceId));
  return {
    planServiceMove: async ({ params, body }, { signal }) => {
      const service = await movable(deps, params);
      const target = await targetOf(deps, params.organizationId, body, signal);
      return planOf(await deps.planMove(service.id, target.connection, target.password, signal));
    },
    moveService: async ({ params, body }, { signal }) => {
      const service = await movable(deps, params);
      const target = await targetOf(deps, params.organizationId, body, signal);
      const plan = await deps.planMove(service.id, target.connection, target.password, signal);
      const leaveBehind = body.leaveBehind === true;
      refuse(leaveBehind ? plan.obstacles : [...plan.obstacles, ...plan.left]);
      const connectionPassword = deps.connectionPasswords.seal(service.id, target.password);
      const { connection } = target;
      await serviceMoves.request({ serviceId: service.id, connection, connectionPassword, leaveBehind });
      deps.poke();
      return await latest(service.id);
    },
    getServiceMove: async ({ params }) => await latest((await findService(deps, params)).id),
    cancelServiceMove: async ({ params }) => {
      const { id: serviceId } = await findService(deps, params);
      const move = found(await serviceMoves.latestOf(serviceId), "Move of service", serviceId);
      if (!(await serviceMoves.requestCancel(move.id))) {
        throw new AppError("CONFLICT", `The move is ${move.status} and cannot be cancelled.`);
      }
      deps.poke();
      return await latest(serviceId);
    },
  };
}

/** Throws CONFLICT while a move has the service stopped, or, with `whole`, while one is in progress at all. */
export async function refuseWhileMoving(
  serviceMoves: ServiceMoves,
  serviceId: string,
  whole: "whole" | "switch",
): Promise<void> {
  const move = await serviceMoves.latestOf(serviceId);
  if (move === undefined || move.finishedAt !== null) return;
  if (whole === "switch" && move.status !== "switching") return;
  throw new AppError("CONFLICT", "A move of the service is in progress; wait until it has ended, or cancel it.");
}

async function movable(deps: Deps, params: ServiceParams): Promise<Service> {
  const service = await findService(deps, params);
  const { moveRefusal } = traitsOf(service);
  if (moveRefusal !== undefined) throw new AppError("BAD_REQUEST", moveRefusal);
  if (service.state === "provisioning" || (await deps.restores.findUnfinishedFor(service.id)) !== undefined) {
    throw new AppError("CONFLICT", "The service is still being provisioned; there is nothing to move yet.");
  }
  return service;
}

async function targetOf(deps: Deps, organizationId: string, body: TargetBody, signal: AbortSignal): Promise<Target> {
  if (body.connection != null) {
    const { password, ...connection } = body.connection;
    await deps.inspectConnection(connection, password, signal);
    return { connection, password };
  }
  const serviceId = body.targetServiceId ?? "";
  const { connection, ...target } = await findService(deps, { organizationId, serviceId });
  if (connection === null) {
    throw badRequest("targetServiceId", "must be an external service");
  }
  const password = deps.connectionPasswords.open(target);
  await deps.inspectConnection(connection, password, signal);
  return { connection, password };
}

function refuse(problems: MovePlan["left"]): void {
  if (problems.length === 0) return;
  const issues = problems.map(({ object, message }) => ({ path: object ?? "connection", message }));
  const text = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new AppError("BAD_REQUEST", `The service cannot be moved. ${text}.`, { issues });
}

function planOf({ objects, left, obstacles }: MovePlan) {
  return {
    objects: objects.map(({ kind, database, name, rows, bytes }) => ({
      kind,
      ...(database === "" ? {} : { database }),
      name,
      ...(kind === "table" ? { rows, bytes } : {}),
    })),
    leftBehind: [...left],
    problems: [...obstacles],
    totalRows: objects.reduce((sum, { rows }) => sum + rows, 0),
    totalBytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const moveView = viewOf(moveRecord);

function recordOf(move: ServiceMove) {
  const secondsLeft = secondsLeftOf(move);
  return moveView({ ...move, progress: { ...move.progress, ...(secondsLeft === undefined ? {} : { secondsLeft }) } });
}

/** From the mean speed until the last progress. */
function secondsLeftOf({ progress, createdAt, updatedAt, finishedAt }: ServiceMove): number | undefined {
  const { copiedBytes, totalBytes } = progress;
  if (finishedAt !== null || copiedBytes === 0) return undefined;
  const elapsedMs = Date.parse(updatedAt) - Date.parse(createdAt);
  return Math.max(0, Math.ceil(((totalBytes - copiedBytes) / copiedBytes) * (elapsedMs / 1000)));
}
