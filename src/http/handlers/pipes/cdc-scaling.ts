/** The size of the workers of a service's Postgres pipes. */
import type { cdcScalingOperations } from "../../../api/cdc-scaling.ts";
import type { Handlers } from "../../../api/operations.ts";
import { sourceDescriptions, sourceKindKeys } from "../../../sources/contract/descriptions.ts";
import type { CdcScalingStore } from "../../../store/pipes/cdc-scaling.ts";
import type { ServiceStore } from "../../../store/services/services.ts";
import type { Context } from "../../caller/context.ts";
import { findService } from "../services/service-users.ts";

const scaledKinds = sourceKindKeys.filter((key) => sourceDescriptions[key].hasCdcScaling);

export function cdcScalingHandlers(deps: {
  readonly services: ServiceStore;
  readonly cdcScaling: CdcScalingStore;
  /** Triggers a pass of the supervisor. */
  readonly poke: () => void;
}): Handlers<typeof cdcScalingOperations, Context> {
  return {
    getCdcScaling: async ({ params }) => {
      const { id } = await findService(deps.services, params);
      return (await deps.cdcScaling.find(id)) ?? {};
    },
    updateCdcScaling: async ({ params, body }) => {
      const { id } = await findService(deps.services, params);
      await deps.cdcScaling.set(id, scaledKinds, body);
      deps.poke();
      return body;
    },
  };
}
