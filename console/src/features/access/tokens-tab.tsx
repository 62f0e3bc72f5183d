import { getRouteApi } from "@tanstack/react-router";
import { Ban, CircleCheck, Ellipsis, KeyRound, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog, FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { useFilters } from "../../parts/filters.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { Panel } from "../../parts/page.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import css from "./access.module.css";
import { shownCredentials } from "./access-search.ts";
import { CredentialFilters, credentialColumns, NameCell } from "./credentials.tsx";
import { type Expiry, ExpiryField, expireAtOf } from "./expiry-field.tsx";
import type { Token } from "./key.ts";

const route = getRouteApi("/access/tokens");

/** Access tokens: who may use the observability API. */
export function TokensTab() {
  const query = useOperation("listAccessTokens", {});
  const [creates, setCreates] = useState(false);
  const { search, field } = useFilters(route);
  return (
    <>
      <p className={css.intro}>
        Programs that ask for charts and rows of the observability API send one of these as bearer token.
      </p>
      <CredentialFilters label="Filter tokens" field={field}>
        <Button look="primary" needs="admin" icon={Plus} onClick={() => setCreates(true)}>
          Create token
        </Button>
      </CredentialFilters>
      <Panel flush>
        <Answer query={query}>
          {(tokens) => (
            <Table
              none={
                <EmptyState icon={KeyRound} title={tokens.length === 0 ? "No tokens" : "No token matches"}>
                  The console itself needs none.
                </EmptyState>
              }
              label="Access tokens"
              columns={columns}
              rows={shownCredentials(tokens, search, serverNow())}
            />
          )}
        </Answer>
      </Panel>
      {creates && <NewTokenDialog onClose={() => setCreates(false)} />}
    </>
  );
}

const columns: readonly Column<Token>[] = [
  { header: "Name", cell: ({ name, tokenSuffix }) => <NameCell suffix={tokenSuffix}>{name}</NameCell> },
  ...credentialColumns<Token>((token) => <TokenMenu token={token} />),
];

/** Creates an access token, and shows it once. */
function NewTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: "90", date: "" });
  const create = useChange("createAccessToken", { changes: ["listAccessTokens"] });
  const { data, error } = create;
  if (data !== undefined) {
    return (
      <SecretDialog title={`Token ${data.token.name}`} what="token" onKept={onClose}>
        <Secret label="Access token" value={data.accessToken} fileName="millrace-token.txt" />
      </SecretDialog>
    );
  }
  const submit = () => create.mutate({ body: { name, expireAt: expireAtOf(expiry) ?? null } });
  const busy = create.isPending;
  const dialog = { title: "Create an access token", action: "Create token", busy, onClose, onSubmit: submit };
  return (
    <FormDialog {...dialog} needs="admin" failure={placeless(error)}>
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} />
      <ExpiryField value={expiry} onChange={setExpiry} error={error?.issueAt("expireAt")} />
    </FormDialog>
  );
}

/** What can be done with an access token. */
function TokenMenu({ token }: { readonly token: Token }) {
  const [deletes, setDeletes] = useState(false);
  const update = useChange("updateAccessToken", {
    changes: ["listAccessTokens"],
    onDone: ({ name, state }) => toast(`${name} is ${state}`),
  });
  const remove = useChange("deleteAccessToken", { changes: ["listAccessTokens"] });
  const params = { tokenId: token.id };
  const isEnabled = token.state === "enabled";
  const toggle = () =>
    update.mutate(
      { params, body: { state: isEnabled ? "disabled" : "enabled" }, ifMatch: token.version },
      { onError: toastError },
    );
  return (
    <>
      <Menu trigger={<IconButton label={`Actions of ${token.name}`} icon={Ellipsis} />}>
        <MenuItem needs="admin" icon={isEnabled ? Ban : CircleCheck} onSelect={toggle}>
          {isEnabled ? "Disable" : "Enable"}
        </MenuItem>
        <MenuSeparator />
        <MenuItem danger needs="admin" icon={Trash2} onSelect={() => setDeletes(true)}>
          Delete
        </MenuItem>
      </Menu>
      {deletes && (
        <ConfirmDialog
          danger
          title={`Delete ${token.name}?`}
          action="Delete token"
          onConfirm={() => remove.mutateAsync({ params, ifMatch: token.version })}
          onClose={() => setDeletes(false)}
        >
          <p>Requests with this token are refused for good.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
