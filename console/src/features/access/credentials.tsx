/** Columns that keys and tokens share. */

import { Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "../../parts/badge.tsx";
import type { fieldsOf } from "../../parts/field.tsx";
import { RelativeTime, useServerNow } from "../../parts/relative-time.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import type { Column } from "../../parts/table.tsx";
import css from "./access.module.css";
import { type AccessSearch, credentialState, expiresSoon } from "./access-search.ts";

type ListedCredential = Credential & { readonly usedAt?: string | undefined; readonly createdAt: string };

/** The name, with the end of the secret below it. */
export function NameCell({ children, suffix }: { readonly children: ReactNode; readonly suffix: string | undefined }) {
  return (
    <div className="stack">
      <span className={css.name}>{children}</span>
      <span className="muted">
        ends with <code>{suffix}</code>
      </span>
    </div>
  );
}

/** State, use and times; `menu` draws the actions of a row. */
export function credentialColumns<Row extends ListedCredential>(menu: (row: Row) => ReactNode): readonly Column<Row>[] {
  return [
    { header: "State", nowrap: true, cell: (row) => <CredentialState credential={row} /> },
    { header: "Last used", nowrap: true, cell: ({ usedAt }) => <RelativeTime at={usedAt} none="never" /> },
    { header: "Expires", nowrap: true, cell: (row) => <ExpiryCell credential={row} /> },
    { header: "Created", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    { header: "", align: "end", cell: menu },
  ];
}

export type Credential = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly expireAt?: string | null | undefined;
};

function CredentialState({ credential }: { readonly credential: Credential }) {
  const state = credentialState(credential, useServerNow());
  if (state !== "expired") return <StateBadge state={state} />;
  return (
    <Badge tone="bad" icon={Hourglass}>
      Expired
    </Badge>
  );
}

/** Amber when it is near. */
function ExpiryCell({ credential }: { readonly credential: Credential }) {
  const now = useServerNow();
  const { expireAt } = credential;
  if (expireAt == null) return <span className="muted">never</span>;
  const tone = Date.parse(expireAt) <= now ? "bad" : expiresSoon(credential, now) ? "warn" : undefined;
  return (
    <span className="toned" data-tone={tone}>
      <RelativeTime at={expireAt} />
    </span>
  );
}

const roles: Readonly<Record<string, string>> = {
  admin: "everything, also keys and settings",
  developer: "pipes, queries, backups; no keys",
  read_only: "sees everything, changes nothing",
};

export const roleOptions = [
  { value: "read_only", label: "read_only: sees everything, changes nothing" },
  { value: "developer", label: "developer: pipes, queries, backups" },
  { value: "admin", label: "admin: everything" },
] as const;

export function RoleCell({ role }: { readonly role: string | undefined }) {
  return <span title={roles[role ?? ""]}>{role}</span>;
}

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
    <div className="row">
      <SearchInput label={label} placeholder="Name or id" {...field("q")} />
      <InlineSelect label="State" {...field("state")} all="Any state" options={states} />
      <span style={{ flex: 1 }} />
      {children}
    </div>
  );
}
