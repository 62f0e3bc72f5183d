/** The size of the workers of a service's Postgres pipes. */
import type { cdcScalingOperations } from "../../../api/cdc-scaling.ts";
import { sourceDescriptions, sourceKindKeys } from "../../../sources/contract/descriptions.ts";
import type { Stores } from "../../../store/open.ts";
import { findService, type Management } from "../lookups.ts";

const scaledKinds = sourceKindKeys.filter((key) => sourceDescriptions[key].hasCdcScaling);

/** `poke` triggers a pass of the supervisor. */
export function cdcScalingHandlers(
  deps: Pick<Stores, "services" | "cdcScaling"> & { readonly poke: () => void },
): Management<keyof typeof cdcScalingOperations> {
  return {
    getCdcScaling: async ({ params }) => {
      const { id } = await findService(deps, params);
      return (await deps.cdcScaling.find(id)) ?? {};
    },
    updateCdcScaling: async ({ params, body }) => {
      const { id } = await findService(deps, params);
      await deps.cdcScaling.set(id, scaledKinds, body);
      deps.poke();
      return body;
    },
  };
}
