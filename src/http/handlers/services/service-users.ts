/** Users of services and their passwords. */
import { AppError, notFound } from "../../../lib/errors.ts";
import type { OrganizationLimits } from "../../../store/database/limits.ts";
import { newSecret, sha256Hex } from "../../../store/database/secrets.ts";
import type { Stores } from "../../../store/open.ts";
import type { ServiceUser } from "../../../store/services/service-users.ts";
import { findService, type Management } from "../lookups.ts";

type Deps = Pick<Stores, "services"> & {
  /** Triggers a pass of the reconciler and the gateway. */
  readonly poke: () => void;
  readonly limits: OrganizationLimits;
};

type Names = "updateServicePassword" | "listServiceUsers" | "createServiceUser" | "deleteServiceUser";

export function serviceUserHandlers(deps: Deps): Management<Names> {
  const { services } = deps;
  return {
    updateServicePassword: async ({ params, body }) => {
      const service = await findService(deps, params);
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
      (await services.listUsers((await findService(deps, params)).id)).map(userView),
    createServiceUser: async ({ params, body }) => {
      const service = await findService(deps, params);
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
      const service = await findService(deps, params);
      if (params.userName === "default") throw new AppError("CONFLICT", "The default user cannot be deleted.");
      if (!(await services.removeUser(service.id, params.userName))) {
        throw notFound("User", params.userName);
      }
      deps.poke();
      return undefined;
    },
  };
}

function userView(user: ServiceUser) {
  const { name, readonly, rights, problem, createdAt } = user;
  return { name, readonly, restricted: rights !== null, ...(problem === undefined ? {} : { problem }), createdAt };
}
