import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { placeless } from "../../api/error.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import type { Role } from "../../api/role.ts";
import { serverNow } from "../../api/server-time.ts";
import { sessionStore } from "../../api/session-state.ts";
import { useStore } from "../../lib/store.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { useFilters } from "../../parts/filters.tsx";
import { Panel } from "../../parts/page.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { Select } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { shownCredentials } from "./access-search.ts";
import { CredentialFilters, credentialColumns, NameCell, RoleCell, roleOptions } from "./credentials.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";
import type { Key } from "./key.ts";
import { KeyMenu } from "./key-menu.tsx";

const route = getRouteApi("/access/");

/** API keys: who may use the management API and this console. */
export function KeysTab() {
  const query = useOperation("listKeys", {});
  const own = useStore(sessionStore).identity?.key.id;
  const [creates, setCreates] = useState(false);
  const { search, field } = useFilters(route);
  return (
    <>
      <CredentialFilters label="Filter keys" field={field}>
        <Button look="primary" needs="admin" icon={Plus} onClick={() => setCreates(true)}>
          Create key
        </Button>
      </CredentialFilters>
      <Panel flush>
        <Answer query={query}>
          {(keys) => (
            <Table
              none={
                <EmptyState icon={KeyRound} title="No key matches">
                  Programs and people sign in with keys. Give each its own, with the lowest role that suffices.
                </EmptyState>
              }
              label="API keys"
              columns={columnsOf(own)}
              rows={shownCredentials(keys, search, serverNow())}
            />
          )}
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
      header: "Name",
      cell: ({ id, name, keySuffix }) => (
        <NameCell suffix={keySuffix}>
          {name} {id === own && <Badge tone="info">in use here</Badge>}
        </NameCell>
      ),
    },
    { header: "Role", cell: ({ roles }) => <RoleCell role={roles[0]} /> },
    ...credentialColumns<Key>((key) => <KeyMenu apiKey={key} isOwn={key.id === own} />),
  ];
}

/** Creates an API key, and shows its secret once. */
function NewKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("read_only");
  const [expiry, setExpiry] = useState<Expiry>({ choice: "90", date: "" });
  const create = useChange("createKey", { changes: ["listKeys"] });
  const { data, error } = create;
  if (data !== undefined) return <CreatedKeyDialog created={data} onClose={onClose} />;
  const submit = () => create.mutate({ body: { name, roles: [role], expireAt: expireAtOf(expiry) ?? null } });
  const busy = create.isPending;
  const dialog = { title: "Create an API key", action: "Create key", busy, onClose, onSubmit: submit };
  return (
    <FormDialog {...dialog} needs="admin" failure={placeless(error)}>
      <TextField
        label="Name"
        hint="Who or what uses it: activities show this name."
        value={name}
        onChange={setName}
        error={error?.issueAt("name")}
      />
      <Select label="Role" value={role} options={roleOptions} onChange={setRole} error={error?.issueAt("roles")} />
      <ExpiryField value={expiry} onChange={setExpiry} error={error?.issueAt("expireAt")} />
    </FormDialog>
  );
}

type CreatedProps = { readonly created: OperationResult<"createKey">; readonly onClose: () => void };

function CreatedKeyDialog({ created: { key, keyId, keySecret }, onClose }: CreatedProps) {
  const organizationId = sessionStore.get().identity?.organization.id;
  const file = JSON.stringify({ baseUrl: location.origin, organizationId, keyId, keySecret }, null, 2);
  return (
    <SecretDialog title={`Key ${key.name}`} what="secret" onKept={onClose}>
      <p>The file signs in here and on the command line.</p>
      <TextField label="Key id" mono readOnly value={keyId} onChange={() => undefined} />
      <Secret label="Key secret" value={keySecret} fileName="millrace-credentials.json" fileText={file} />
    </SecretDialog>
  );
}
