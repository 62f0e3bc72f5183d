import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { Bounds } from "../../charts/time-range.ts";

/** Fields of a source in a range. Another range is asked for when the sidebar is, not before. */
export function useFields(id: string, bounds: Bounds | undefined) {
  return useQuery({
    queryKey: ["listFields", id, bounds === undefined],
    queryFn: ({ signal }) =>
      call(
        "listFields",
        { params: { id }, query: { startTime: bounds?.from, endTime: bounds?.to, wake: "never" } },
        signal,
      ),
    enabled: bounds !== undefined,
    staleTime: 300_000,
    refetchOnWindowFocus: false,
  });
}
