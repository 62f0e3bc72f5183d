import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus, Workflow } from "lucide-react";
import { useDeferredValue } from "react";
import { sourceDescriptions, sourceKindKeys } from "../../../../src/sources/contract/descriptions.ts";
import { useOperation } from "../../api/queries.ts";
import { counted } from "../../lib/format.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { fieldsOf } from "../../parts/field.tsx";
import { NoMatch } from "../../parts/filters.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect, named } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { kindWords, type ListSearch, listSearch, type PipeSummary, stateGroups } from "./list-search.ts";
import { pipeColumns } from "./pipe-columns.tsx";

const pageSize = 50;
const readable = new Intl.ListFormat("en", { type: "disjunction" }).format(
  sourceKindKeys.map((kind) => sourceDescriptions[kind].reads),
);

/** All pipes of the organization. */
export function PipesPage() {
  const search: ListSearch = useSearch({ from: "/pipes" });
  const { state, ...rest } = useDeferredValue(search);
  const states = state === undefined ? undefined : [...stateGroups[state]];
  const query = { ...rest, sort: rest.sort ?? "name", limit: pageSize, ...(states && { state: states }) };
  const pipes = useOperation("listAllPipes", { query: query as never }, { keep: true });
  return (
    <Page
      title="Pipes"
      actions={
        <ButtonLink to="/new-pipe" look="primary" needs="developer" icon={Plus}>
          New pipe
        </ButtonLink>
      }
    >
      <PipeFilters search={search} />
      <Answer query={pipes}>{(answer) => <PipeList {...answer} search={search} />}</Answer>
    </Page>
  );
}

function useListSearch() {
  const navigate = useNavigate({ from: "/pipes" });
  /** Any other filter begins with the first page. */
  return (next: Partial<Record<keyof ListSearch, string | undefined>>) =>
    void navigate({ search: (before) => listSearch({ ...before, cursor: undefined, ...next }), replace: true });
}

function PipeFilters({ search }: { readonly search: ListSearch }) {
  const change = useListSearch();
  const services = useOperation("listServices", {}, { pace: "slow" });
  const field = fieldsOf({ form: search, onChange: change });
  return (
    <div className="row">
      <SearchInput label="Find pipes by name" {...field("name")} />
      <InlineSelect
        label="State"
        {...field("state")}
        all="All states"
        options={[
          { value: "trouble", label: "Needs attention" },
          { value: "running", label: "Running" },
          { value: "changing", label: "Changing" },
          { value: "stopped", label: "Stopped" },
          { value: "completed", label: "Completed" },
        ]}
      />
      <InlineSelect
        label="Source"
        {...field("kind")}
        all="All sources"
        options={sourceKindKeys.map((value) => ({ value, label: kindWords[value] }))}
      />
      <InlineSelect label="Service" {...field("serviceId")} all="All services" options={named(services.data)} />
    </div>
  );
}

type PipeListProps = {
  readonly pipes: readonly PipeSummary[];
  readonly total: number;
  readonly nextCursor?: string | undefined;
  readonly search: ListSearch;
};

function PipeList({ pipes, total, nextCursor, search }: PipeListProps) {
  const change = useListSearch();
  const { sort = "name", order = "asc", cursor, ...filters } = search;
  if (pipes.length === 0) return <NoPipes isFiltered={Object.keys(filters).length > 0} />;
  return (
    <Panel flush title={counted(total, "pipe")}>
      <Table
        label="Pipes"
        columns={pipeColumns}
        rows={pipes}
        sort={{ key: sort, order }}
        onSort={(next) => change({ sort: next.key, order: next.order === "desc" ? "desc" : undefined })}
      />
      {(nextCursor !== undefined || cursor !== undefined) && (
        <div className="more">
          {cursor !== undefined && <Button onClick={() => change({})}>First page</Button>}
          {nextCursor !== undefined && <Button onClick={() => change({ cursor: nextCursor })}>Next page</Button>}
        </div>
      )}
    </Panel>
  );
}

function NoPipes({ isFiltered }: { readonly isFiltered: boolean }) {
  const change = useListSearch();
  if (isFiltered) {
    const all = { name: undefined, state: undefined, kind: undefined, serviceId: undefined };
    return <NoMatch what="pipe" onAll={() => change(all)} />;
  }
  return (
    <EmptyState
      icon={Workflow}
      title="No pipes yet"
      actions={
        <ButtonLink to="/new-pipe" look="primary" needs="developer">
          New pipe
        </ButtonLink>
      }
    >
      A pipe loads {readable} into a service: every row exactly once, and without end if the source has none.
    </EmptyState>
  );
}
