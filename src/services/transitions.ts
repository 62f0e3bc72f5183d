/**
 * Starts and stops of services that may take minutes, as those of a cluster do. They say what they wait for, and end
 * early when the service is to do something else, or when the control plane stops.
 */
import type { Service } from "../store/services/services.ts";

export type Transition = {
  /** Aborts when the transition is no longer wanted. A runtime whose starts and stops take seconds may ignore it. */
  readonly signal: AbortSignal;
  /** Shows a sentence beside the state of the service for as long as the transition lasts. */
  report(sentence: string): Promise<void>;
};

/** Nobody waits for it to be reported, and it always goes on to its end. */
export const unwatched: Transition = { signal: new AbortController().signal, report: async () => {} };

export type TransitionTerms = {
  readonly report: Transition["report"];
  /** Compared with the service as it is stored meanwhile. */
  readonly isWanted: (now: Service) => boolean;
};

type Open = { readonly controller: AbortController; readonly isWanted: TransitionTerms["isWanted"] };

export class Transitions {
  readonly #open = new Map<string, Open>();
  #isClosed = false;

  has(serviceId: string): boolean {
    return this.#open.has(serviceId);
  }

  /** Runs the work. Resolves with false if it ended early, and rejects if it failed otherwise. */
  async run(
    serviceId: string,
    watch: TransitionTerms,
    work: (transition: Transition) => Promise<void>,
  ): Promise<boolean> {
    const controller = new AbortController();
    if (this.#isClosed) controller.abort(ended());
    const open = { controller, isWanted: watch.isWanted };
    this.#open.set(serviceId, open);
    let shown = "";
    const report = async (sentence: string) => {
      if (sentence === shown || controller.signal.aborted) return;
      shown = sentence;
      await watch.report(sentence);
    };
    try {
      await work({ signal: controller.signal, report });
      return true;
    } catch (error) {
      if (controller.signal.aborted) return false;
      throw error;
    } finally {
      if (this.#open.get(serviceId) === open) this.#open.delete(serviceId);
    }
  }

  /** Ends the service's transition if the service, as it is stored now, does not want it any more. */
  review(now: Service): void {
    const open = this.#open.get(now.id);
    if (open !== undefined && !open.isWanted(now)) open.controller.abort(ended());
  }

  /** Ends the transitions of services that another process may carry out. */
  keepOnly(isHeld: (serviceId: string) => boolean): void {
    for (const [id, { controller }] of this.#open) if (!isHeld(id)) controller.abort(ended());
  }

  /** Ends every transition, also those that begin later. */
  close(): void {
    this.#isClosed = true;
    for (const { controller } of this.#open.values()) controller.abort(ended());
  }
}

function ended(): Error {
  return new Error("the transition is no longer wanted");
}
