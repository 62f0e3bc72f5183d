/** What deleted pipes have left at their sources: listing it, and giving it up. */
import { leftover, type leftoverOperations } from "../../../api/leftovers.ts";
import { found } from "../../../lib/errors.ts";
import type { Deleted, LeftoverRemover } from "../../../pipes/control/cleanup/leftovers.ts";
import type { AuditEvent } from "../../../store/access/audit-events.ts";
import type { Stores } from "../../../store/open.ts";
import { viewOf } from "../../views/view-of.ts";
import type { Management } from "../lookups.ts";

const leftoverView = viewOf(leftover);

export type LeftoverDeps = Pick<Stores, "leftovers"> & {
  /** Takes an event of the audit trail. */
  readonly note: (event: AuditEvent) => void;
};

/** Longest that the answer of a deletion waits for the pipe to end, and for the first attempt at the source. */
const attemptWithinMs = 2_000;

/** Lists what remains when the deleted is gone and the first attempt to remove it was made, or after a limit in ms. */
export type AfterAttempt = LeftoverRemover["afterAttempt"];

/** The answer of a deletion: what is still at the source. */
export async function deletedOf(afterAttempt: AfterAttempt, deleted: Deleted, signal: AbortSignal) {
  const left = await afterAttempt(deleted, attemptWithinMs, signal);
  return { leftovers: left.map(({ kind, name }) => ({ kind, name })) };
}

export function leftoverHandlers({ leftovers, note }: LeftoverDeps): Management<keyof typeof leftoverOperations> {
  return {
    listLeftovers: async ({ params }) => (await leftovers.listIn(params.organizationId)).map(leftoverView),
    deleteLeftover: async ({ params: { organizationId, leftoverId } }, { credentialId, address }) => {
      const { kind, name, pipeName } = found(
        await leftovers.giveUp(organizationId, leftoverId),
        "Leftover",
        leftoverId,
      );
      note({
        type: "leftover_given_up",
        organizationId,
        actorType: "api_key",
        actor: credentialId,
        address,
        detail: `${kind} ${name} of pipe ${pipeName}`,
      });
      return undefined;
    },
  };
}
