/** Hooks of operations. Equal questions of several components are one request. */
import {
  keepPreviousData,
  QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQueries,
  useQuery,
} from "@tanstack/react-query";
import { useStore } from "../lib/store.ts";
import { type CallInput, call, type OperationName, type OperationResult } from "./client.ts";
import { connectionStore } from "./connection.ts";
import type { ApiError } from "./error.ts";
import { intervalOf, type Pace, pausedStore, restingStore } from "./refresh.ts";
import { sessionStore } from "./session-state.ts";

/** Answers are kept in memory only: they may contain names of a customer. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Requests fail by themselves when there is no network; the browser's own guess is often wrong.
      networkMode: "always",
      refetchIntervalInBackground: false,
      refetchOnWindowFocus: true,
      retry: false,
      // The shortest interval of a poll: a part that appears late on a slow machine uses the answer that is there.
      staleTime: 2_000,
      gcTime: 300_000,
    },
    mutations: { networkMode: "always", retry: false },
  },
});

restingStore.subscribe(() => {
  if (!restingStore.get()) void queryClient.invalidateQueries();
});
connectionStore.subscribe(() => {
  if (connectionStore.get().reached) void queryClient.invalidateQueries();
});
let wasSignedOut = true;
sessionStore.subscribe(() => {
  const isSignedOut = sessionStore.get().signedOut !== undefined;
  if (wasSignedOut && !isSignedOut) void queryClient.invalidateQueries();
  if (isSignedOut && sessionStore.get().identity === undefined) queryClient.clear();
  wasSignedOut = isSignedOut;
});

type Options<T> = {
  /** Default: `live`. A function sees the last answer, for example to ask faster while a state changes. */
  readonly pace?: Pace | ((data: T | undefined) => Pace);
  readonly enabled?: boolean;
  /** Shows the answer to the previous input until the new one is there. */
  readonly keep?: boolean;
};

/** Whether anything may be asked now, and asked again by itself. Another pace is another rendering. */
function useAsking() {
  useStore(restingStore);
  const isPaused = useStore(pausedStore);
  const isReached = useStore(connectionStore).reached;
  return { isSignedIn: useStore(sessionStore).signedOut === undefined, isRepeated: !isPaused && isReached };
}

/** The result of a GET operation, asked again at the given pace while the page is visible. */
export function useOperation<Name extends OperationName>(
  name: Name,
  input: CallInput<Name>,
  options: Options<OperationResult<Name>> = {},
): UseQueryResult<OperationResult<Name>, ApiError> {
  const { isSignedIn, isRepeated } = useAsking();
  const { pace = "live", enabled = true, keep = false } = options;
  return useQuery<OperationResult<Name>, ApiError>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    enabled: enabled && isSignedIn,
    ...(keep ? { placeholderData: keepPreviousData as never } : {}),
    refetchInterval: (query) => {
      if (!isRepeated) return false;
      // What is deleted or forbidden mostly stays so.
      const status = query.state.error?.status;
      if (status === 404 || status === 403) return intervalOf("slow");
      return intervalOf(typeof pace === "function" ? pace(query.state.data) : pace);
    },
  });
}

/** The answers of one operation to several inputs, in their order; undefined while one is not there. */
export function useOperations<Name extends OperationName>(
  name: Name,
  inputs: readonly CallInput<Name>[],
  pace: Pace = "live",
): (OperationResult<Name> | undefined)[] {
  const { isSignedIn, isRepeated } = useAsking();
  const results = useQueries({
    queries: inputs.map((input) => ({
      queryKey: [name, input],
      queryFn: ({ signal }: { signal: AbortSignal }) => call(name, input, signal),
      enabled: isSignedIn,
      refetchInterval: isRepeated ? intervalOf(pace) : (false as const),
    })),
  });
  return results.map(({ data }) => data as OperationResult<Name> | undefined);
}

/** Reads the operations again, everywhere on the page. */
export function refetch(...names: readonly OperationName[]): Promise<void> {
  return queryClient.invalidateQueries({ predicate: ({ queryKey }) => names.includes(queryKey[0] as OperationName) });
}

type Change<Name extends OperationName> = {
  /** Operations whose answers differ after the change. */
  readonly changes: readonly OperationName[];
  readonly onDone?: (result: OperationResult<Name>, input: CallInput<Name>) => void;
};

/** An operation that changes something. The page shows what the server says afterwards, never a guess. */
export function useChange<Name extends OperationName>(
  name: Name,
  { changes, onDone }: Change<Name>,
): UseMutationResult<OperationResult<Name>, ApiError, CallInput<Name>> {
  return useMutation<OperationResult<Name>, ApiError, CallInput<Name>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (result, input) => onDone?.(result, input),
    onSettled: () => refetch(...changes),
  });
}
