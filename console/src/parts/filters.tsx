/** Filters of a list that are in the address of its screen. */
import { withoutEmpty } from "../lib/search.ts";
import { Button } from "./button.tsx";
import { fieldsOf } from "./field.tsx";
import { EmptyState } from "./states.tsx";

type FilterRoute<Search> = { readonly useSearch: () => Search; readonly useNavigate: () => unknown };

/** What the address holds, with the inputs that change it. An empty text leaves nothing behind. */
export function useFilters<Search extends object>(route: FilterRoute<Search>) {
  const search = route.useSearch();
  const navigate = route.useNavigate() as (to: object) => unknown;
  const change = (next: { readonly [name in keyof Search]?: string | undefined }) =>
    void navigate({ search: (before: Search) => withoutEmpty({ ...before, ...next }), replace: true });
  return { search, change, field: fieldsOf<Search>({ form: search, onChange: change as never }) };
}

/** Instead of a list that the filters leave empty. */
export function NoMatch({ what, onAll }: { readonly what: string; readonly onAll: () => void }) {
  return <EmptyState title={`No ${what} matches`} actions={<Button onClick={onAll}>Show all</Button>} />;
}
