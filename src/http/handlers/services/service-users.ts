/** Users of services and their passwords. */
import type { Handlers, ManagementOperations } from "../../../api/operations.ts";
import { AppError, found, notFound } from "../../../lib/errors.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import { newSecret, sha256Hex } from "../../../store/database/secrets.ts";
import type { ServiceUser } from "../../../store/services/service-users.ts";
import type { Service, ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";

type Deps = {
  readonly services: ServiceStore;
  /** Triggers a pass of the reconciler and the gateway. */
  readonly poke: () => void;
  readonly limits: OrganizationLimits;
};

type Names = "updateServicePassword" | "listServiceUsers" | "createServiceUser" | "deleteServiceUser";
type ServiceParams = { organizationId: string; serviceId: string };

export function serviceUserHandlers(deps: Deps): Pick<Handlers<ManagementOperations, Context>, Names> {
  const { services } = deps;
  return {
    updateServicePassword: async ({ params, body }) => {
      const service = await findService(services, params);
      if (body.newPasswordHash !== undefined) {
        const hash = Buffer.from(body.newPasswordHash, "base64").toString("hex");
        await services.setPassword(service.id, "default", hash);
        deps.poke();
        return {};
      }
      const password = newSecret();
      await services.setPassword(service.id, "default", sha256Hex(password));
      deps.poke();
      return { password };
    },
    listServiceUsers: async ({ params }) =>
      (await services.listUsers((await findService(services, params)).id)).map(userView),
    createServiceUser: async ({ params, body }) => {
      const service = await findService(services, params);
      const password = newSecret();
      const user = { serviceId: service.id, name: body.name, passwordSha256: sha256Hex(password) };
      if (!(await services.addUser({ ...user, readonly: body.readonly ?? false }, deps.limits.users))) {
        throw new AppError("CONFLICT", `User ${body.name} already exists.`);
      }
      deps.poke();
      const added = (await services.listUsers(service.id)).find((candidate) => candidate.name === body.name);
      return { user: userView(added as ServiceUser), password };
    },
    deleteServiceUser: async ({ params }) => {
      const service = await findService(services, params);
      if (params.userName === "default") throw new AppError("CONFLICT", "The default user cannot be deleted.");
      if (!(await services.removeUser(service.id, params.userName))) {
        throw notFound("User", params.userName);
      }
      deps.poke();
      return undefined;
    },
  };
}

/** Throws NOT_FOUND. */
export async function findService(services: ServiceStore, params: ServiceParams): Promise<Service> {
  return found(await services.findIn(params.organizationId, params.serviceId), "Service", params.serviceId);
}

function userView(user: ServiceUser) {
  const { name, readonly, rights, problem, createdAt } = user;
  return { name, readonly, restricted: rights !== null, ...(problem === undefined ? {} : { problem }), createdAt };
}
