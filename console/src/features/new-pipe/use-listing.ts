/** Asks what the source has. It is the test of the connection too: nothing is created, secrets are not kept. */
import { useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { type ApiError, asApiError } from "../../api/error.ts";
import { type Form, sourceOf } from "./form.ts";

export type Listing = OperationResult<"listSource">;

export type ListingState = {
  readonly listing: Listing | undefined;
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  /** Milliseconds of the last answer. */
  readonly took: number | undefined;
  readonly read: (within?: string) => Promise<boolean>;
};

type Answer = Pick<ListingState, "listing" | "error" | "took">;

export function useListing(form: Form): ListingState {
  const [answer, setAnswer] = useState<Answer>({ listing: undefined, error: undefined, took: undefined });
  const [isBusy, setBusy] = useState(false);
  const read = async (within?: string): Promise<boolean> => {
    setBusy(true);
    const begin = performance.now();
    const body = { source: sourceOf(form), ...(within === undefined ? {} : { within }) };
    try {
      const listing = await call("listSource", { params: { serviceId: form.serviceId }, body } as never);
      setAnswer({ listing, error: undefined, took: performance.now() - begin });
      return true;
    } catch (reason) {
      setAnswer({ listing: undefined, error: asApiError(reason), took: performance.now() - begin });
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { ...answer, isBusy, read };
}
