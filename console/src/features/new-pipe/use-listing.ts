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
  /** Reads the next page, where there is one: the listing is longer then. */
  readonly more: () => Promise<boolean>;
};

type Answer = Pick<ListingState, "listing" | "error" | "took"> & { readonly within?: string | undefined };

export function useListing(form: Form): ListingState {
  const [answer, setAnswer] = useState<Answer>({ listing: undefined, error: undefined, took: undefined });
  const [isBusy, setBusy] = useState(false);
  const ask = async (within: string | undefined, before?: Listing): Promise<boolean> => {
    setBusy(true);
    const begin = performance.now();
    const body = { source: sourceOf(form), within, cursor: before?.nextCursor };
    try {
      const page = await call("listSource", { params: { serviceId: form.serviceId }, body } as never);
      setAnswer({ listing: joined(before, page), error: undefined, took: performance.now() - begin, within });
      return true;
    } catch (reason) {
      setAnswer({ listing: before, error: asApiError(reason), took: performance.now() - begin, within });
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { ...answer, isBusy, read: (within) => ask(within), more: () => ask(answer.within, answer.listing) };
}

/** A listing and its next page. */
function joined(before: Listing | undefined, page: Listing): Listing {
  if (before === undefined) return page;
  const all = <Entry>(first: Entry[] | undefined, next: Entry[] = []) => first && [...first, ...next];
  return {
    nextCursor: page.nextCursor,
    topics: all(before.topics, page.topics),
    streams: all(before.streams, page.streams),
    prefixes: all(before.prefixes, page.prefixes),
    objects: all(before.objects, page.objects),
    tables: all(before.tables, page.tables),
  };
}
