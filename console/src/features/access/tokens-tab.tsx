import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { withoutEmpty } from "../../lib/search.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import css from "./access.module.css";
import { shownCredentials } from "./access-search.ts";
import { credentialColumns, NameCell } from "./credential-columns.tsx";
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
        <Button look="primary" needs="admin" icon={Plus} onClick={() => setCreates(true)}>
          Create token
        </Button>
      </CredentialFilters>
      <Panel flush>
        <Answer query={query}>
          {(tokens) => {
            const shown = shownCredentials(tokens, search, serverNow());
            if (shown.length === 0) {
              return (
                <EmptyState icon={KeyRound} title={tokens.length === 0 ? "No tokens" : "No token matches"}>
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
  { key: "name", header: "Name", cell: ({ name, tokenSuffix }) => <NameCell suffix={tokenSuffix}>{name}</NameCell> },
  ...credentialColumns<Token>((token) => <TokenMenu token={token} />),
];
