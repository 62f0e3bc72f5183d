import type { ReactNode } from "react";
import type { fieldsOf } from "../../parts/field.tsx";
import { Filters } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import type { AccessSearch } from "./access-search.ts";

type CredentialFiltersProps = {
  readonly label: string;
  readonly field: ReturnType<typeof fieldsOf<AccessSearch>>;
  readonly children: ReactNode;
};

const states = [
  { value: "enabled", label: "Enabled" },
  { value: "disabled", label: "Disabled" },
  { value: "expired", label: "Expired" },
];

/** The filters above keys and tokens, with the button that makes one. */
export function CredentialFilters({ label, field, children }: CredentialFiltersProps) {
  return (
    <Filters>
      <SearchInput label={label} placeholder="Name or id" {...field("q")} />
      <InlineSelect label="State" {...field("state")} all="Any state" options={states} />
      <span style={{ flex: 1 }} />
      {children}
    </Filters>
  );
}
