/** Backups of a service. */
import type { Handlers, ManagementOperations } from "../../api/operations.ts";
import { AppError } from "../../lib/errors.ts";
import type { ServiceStore } from "../../store/services.ts";
import type { Context } from "../context.ts";

export function backupHandlers(deps: {
  services: ServiceStore;
}): Pick<Handlers<ManagementOperations, Context>, "listBackups"> {
  return {
    listBackups: async ({ params }) => {
      const service = await deps.services.findIn(params.organizationId, params.serviceId);
      if (service === undefined) throw new AppError("NOT_FOUND", `Service ${params.serviceId} does not exist.`);
      // This version makes no backups yet; the list is truthfully empty.
      return [];
    },
  };
}
