/** The list of all pipes of an organization. Reads stored facts and samples: it wakes no service. */
import type { Input } from "../../../api/operation.ts";
import type { pipeListOperations, pipeSortKeys } from "../../../api/pipe-lists.ts";
import type { PipeVitals } from "../../../pipes/control/progress/vitals.ts";
import type { Stores } from "../../../store/open.ts";
import type { PipeOverview } from "../../../store/pipes/pipe-overviews.ts";
import { pageOf, type SortValue } from "../../request/paging.ts";
import { asShown } from "../../views/pipe-state.ts";
import { type ListedPipe, pipeSummaryOf } from "../../views/pipe-summaries.ts";
import type { Management } from "../lookups.ts";

export type PipeListDeps = Pick<Stores, "pipeOverviews"> & {
  /** Sampled numbers of a pipe. */
  readonly vitals: (pipeId: string) => PipeVitals;
};

type Query = Input<(typeof pipeListOperations)["listAllPipes"]>["query"];

export function pipeListHandlers(deps: PipeListDeps): Management<keyof typeof pipeListOperations> {
  const { pipeOverviews, vitals } = deps;
  return {
    listAllPipes: async ({ params, query }) => {
      const all = (await pipeOverviews.listIn(params.organizationId)).map(asShown).filter(filterOf(query));
      const listed = all.map((pipe) => ({ pipe, vitals: vitals(pipe.id) }));
      const sortedBy = sortValues[query.sort];
      const { items, nextCursor } = pageOf(listed, (item) => ({ value: sortedBy(item), id: item.pipe.id }), {
        sorting: `${query.sort} ${query.order}`,
        isDescending: query.order === "desc",
        limit: query.limit,
        cursor: query.cursor,
      });
      return {
        pipes: items.map(pipeSummaryOf),
        total: all.length,
        ...(nextCursor === undefined ? {} : { nextCursor }),
      };
    },
  };
}

function filterOf({ state, kind, serviceId, name }: Query): (pipe: PipeOverview) => boolean {
  const states: ReadonlySet<string> | undefined = state && new Set(state);
  const kinds: ReadonlySet<string> | undefined = kind && new Set(kind);
  const text = name?.toLowerCase();
  return (pipe) =>
    (states?.has(pipe.state) ?? true) &&
    (kinds?.has(pipe.sourceKind) ?? true) &&
    (serviceId === undefined || pipe.serviceId === serviceId) &&
    (text === undefined || pipe.name.toLowerCase().includes(text));
}

const sortValues: Record<(typeof pipeSortKeys)[number], (listed: ListedPipe) => SortValue> = {
  createdAt: ({ pipe }) => pipe.createdAt,
  name: ({ pipe }) => pipe.name.toLowerCase(),
  service: ({ pipe }) => `${pipe.serviceName.toLowerCase()} ${pipe.serviceId}`,
  state: ({ pipe }) => pipe.state,
  stateChangedAt: ({ pipe }) => pipe.stateChangedAt ?? undefined,
  lag: ({ vitals }) => vitals.lag?.seconds,
  rowsPerSecond: ({ vitals }) => vitals.rates?.rowsPerSecond,
};
