import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { sessionStore } from "../../api/session-state.ts";
import { withoutEmpty } from "../../lib/search.ts";
import { useStore } from "../../lib/store.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { shownCredentials } from "./access-search.ts";
import { RoleCell } from "./credential-cells.tsx";
import { credentialColumns, NameCell } from "./credential-columns.tsx";
import { CredentialFilters } from "./credential-filters.tsx";
import type { Key } from "./key.ts";
import { KeyMenu } from "./key-menu.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";

const route = getRouteApi("/access/");

/** API keys: who may use the management API and this console. */
export function KeysTab() {
  const query = useOperation("listKeys", {});
  const own = useStore(sessionStore).identity?.key.id;
  const [creates, setCreates] = useState(false);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <CredentialFilters
        label="Filter keys"
        search={search}
        onChange={(next) => void navigate({ search: (before) => withoutEmpty({ ...before, ...next }), replace: true })}
      >
        <Button look="primary" needs="admin" icon={Plus} onClick={() => setCreates(true)}>
          Create key
        </Button>
      </CredentialFilters>
      <Panel flush>
        <Answer query={query}>
          {(keys) => {
            const shown = shownCredentials(keys, search, serverNow());
            if (shown.length === 0) {
              return (
                <EmptyState icon={KeyRound} title="No key matches">
                  Programs and people sign in with keys. Give each its own, with the lowest role that suffices.
                </EmptyState>
              );
            }
            return <Table label="API keys" columns={columnsOf(own)} rows={shown} rowKey={({ id }) => id} />;
          }}
        </Answer>
      </Panel>
      {creates && <NewKeyDialog onClose={() => setCreates(false)} />}
    </>
  );
}

/** `own`: the key of this session. */
function columnsOf(own: string | undefined): readonly Column<Key>[] {
  return [
    {
      key: "name",
      header: "Name",
      cell: ({ id, name, keySuffix }) => (
        <NameCell suffix={keySuffix}>
          {name} {id === own && <Badge tone="info">in use here</Badge>}
        </NameCell>
      ),
    },
    { key: "role", header: "Role", cell: ({ roles }) => <RoleCell role={roles[0]} /> },
    ...credentialColumns<Key>((key) => <KeyMenu apiKey={key} isOwn={key.id === own} />),
  ];
}
