import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { withoutEmpty } from "../../lib/search.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./access.module.css";
import { shownCredentials } from "./access-search.ts";
import { CredentialState, ExpiryCell } from "./credential-cells.tsx";
import { CredentialFilters } from "./credential-filters.tsx";
import type { Token } from "./key.ts";
import { NewTokenDialog } from "./new-token-dialog.tsx";
import { TokenMenu } from "./token-menu.tsx";

const route = getRouteApi("/access/tokens");

/** Access tokens: who may use the observability API. */
export function TokensTab() {
  const query = useOperation("listAccessTokens", {});
  const [creates, setCreates] = useState(false);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <p className={css.intro}>
        Programs that ask for charts and rows of the observability API send one of these as bearer token.
      </p>
      <CredentialFilters
        label="Filter tokens"
        search={search}
        onChange={(next) => void navigate({ search: (before) => withoutEmpty({ ...before, ...next }), replace: true })}
      >
        <Button look="primary" needs="admin" icon={<Plus aria-hidden />} onClick={() => setCreates(true)}>
          Create token
        </Button>
      </CredentialFilters>
      <Panel flush>
        <Answer query={query}>
          {(tokens) => {
            const shown = shownCredentials(tokens, search, serverNow());
            if (shown.length === 0) {
              return (
                <EmptyState
                  icon={<KeyRound aria-hidden />}
                  title={tokens.length === 0 ? "No tokens" : "No token matches"}
                >
                  The console itself needs none.
                </EmptyState>
              );
            }
            return <Table label="Access tokens" columns={columns} rows={shown} rowKey={({ id }) => id} />;
          }}
        </Answer>
      </Panel>
      {creates && <NewTokenDialog onClose={() => setCreates(false)} />}
    </>
  );
}

const columns: readonly Column<Token>[] = [
  {
    key: "name",
    header: "Name",
    cell: ({ name, tokenSuffix }) => (
      <div className={css.stack}>
        <span className={css.name}>{name}</span>
        <span className={css.muted}>
          ends with <code>{tokenSuffix}</code>
        </span>
      </div>
    ),
  },
  { key: "state", header: "State", nowrap: true, cell: (token) => <CredentialState credential={token} /> },
  {
    key: "used",
    header: "Last used",
    nowrap: true,
    wide: true,
    cell: ({ usedAt }) => <RelativeTime at={usedAt} none="never" />,
  },
  { key: "expires", header: "Expires", nowrap: true, wide: true, cell: (token) => <ExpiryCell credential={token} /> },
  {
    key: "created",
    header: "Created",
    nowrap: true,
    wide: true,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
  {
    key: "menu",
    header: <span className="visually-hidden">Actions</span>,
    align: "end",
    cell: (token) => <TokenMenu token={token} />,
  },
];
