/** Holds the pipes of a service between two batches, for a switch. */
import { AppError } from "../../lib/errors.ts";
import { settled } from "../../store/database/settled.ts";
import type { Stores } from "../../store/open.ts";
import type { Hold } from "../../store/pipes/ledger.ts";

/**
 * Resolves when no pipe has a batch between its intent and its confirmation: then the tables contain everything up to
 * the positions of the pipes and nothing after them. Throws CONFLICT with the pipes whose batches do not end. Release
 * the hold once the engine is out of reach of the pipes.
 */
export async function holdPipes(
  { ledger, pipeSnapshots, pipes }: Pick<Stores, "ledger" | "pipeSnapshots" | "pipes">,
  serviceId: string,
  signal: AbortSignal,
): Promise<Hold> {
  const ids = (await pipeSnapshots.listIn(serviceId)).map(({ id }) => id);
  const hold = await ledger.hold(ids);
  try {
    const unsettled = await settled(hold, ids, signal);
    if (unsettled.size === 0) return hold;
    throw notSettled((await pipes.listIn(serviceId)).filter(({ id }) => unsettled.has(id)));
  } catch (error) {
    await hold.release();
    throw error;
  }
}

function notSettled(pipes: readonly { readonly name: string }[]): AppError {
  const names = pipes.map(({ name }) => `"${name}"`).join(", ");
  const message = `A batch of ${names} was begun and has not ended: start a stopped pipe so that it ends its batch, or delete it.`;
  return new AppError("CONFLICT", message);
}
