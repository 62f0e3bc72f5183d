import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { placeless } from "../../api/error.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { sessionStore } from "../../api/session-state.ts";
import { useStore } from "../../lib/store.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { DeleteButton, FormDialog } from "../../parts/dialog.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { admits } from "./admitted.ts";
import { paceOf, type Service } from "./service.ts";
import css from "./services.module.css";

type Entry = Service["ipAccessList"][number];

/** The addresses that may connect. */
function AccessListPanel({ service }: { readonly service: Service }) {
  const [adding, setAdding] = useState(false);
  const entries = service.ipAccessList;
  const address = useStore(sessionStore).identity?.address ?? "";
  const isAdmitted = entries.some(({ source }) => admits(source, address));
  const columns: readonly Column<Entry>[] = [
    {
      header: "Address or range",
      cell: ({ source }) => (
        <>
          <code>{source}</code> {admits(source, address) && <Badge tone="ok">Admits you</Badge>}
        </>
      ),
    },
    { header: "Description", cell: ({ description }) => description || "–" },
    { header: "", align: "end", cell: (entry) => <RemoveButton service={service} entry={entry} /> },
  ];
  const add = (
    <Button small needs="admin" icon={Plus} onClick={() => setAdding(true)}>
      Add address
    </Button>
  );
  return (
    <Panel flush title="Addresses that may connect" actions={add}>
      <Table
        none={
          <EmptyState title="Nobody may connect">
            Clients need an address in this list. The console needs none.
          </EmptyState>
        }
        label="Addresses"
        columns={columns}
        rows={entries}
        rowKey={({ source }) => source}
      />
      <p className={css.own}>
        Your address is <code>{address}</code>
        {isAdmitted ? "." : ": no entry admits it. The console works; clients at this address cannot connect."}
      </p>
      {adding && <AddDialog service={service} onClose={() => setAdding(false)} />}
    </Panel>
  );
}

type DialogProps = { readonly service: Service; readonly onClose: () => void };

function AddDialog({ service, onClose }: DialogProps) {
  const [source, setSource] = useState("");
  const [description, setDescription] = useState("");
  const change = useChange("updateService", { changes: ["getService", "listServices"], onDone: onClose });
  const { error } = change;
  const submit = () => {
    const ipAccessList = { add: [{ source: source.trim(), description }] };
    change.mutate({ params: { serviceId: service.id }, body: { ipAccessList } });
  };
  const busy = change.isPending;
  return (
    <FormDialog
      {...{ title: "Add an address", action: "Add address", busy, onClose, onSubmit: submit }}
      needs="admin"
      failure={placeless(error)}
    >
      <TextField
        mono
        label="Address or CIDR range"
        hint="An address or a range: 203.0.113.7 or 10.0.0.0/8"
        value={source}
        error={error?.issueAt("ipAccessList")}
        onChange={setSource}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
    </FormDialog>
  );
}

function RemoveButton({ service, entry }: { readonly service: Service; readonly entry: Entry }) {
  const change = useChange("updateService", { changes: ["getService", "listServices"] });
  const isLast = service.ipAccessList.length === 1;
  const confirm = () =>
    change.mutateAsync({ params: { serviceId: service.id }, body: { ipAccessList: { remove: [entry] } } });
  return (
    <DeleteButton
      verb="Remove"
      kind="address"
      name={entry.source}
      needs="admin"
      typed={isLast ? service.name : undefined}
      onDelete={confirm}
    >
      <p>Clients with an address that only this entry allows are refused from then on.</p>
      {isLast && <Note tone="warn">This is the last entry: without it, nobody can connect.</Note>}
    </DeleteButton>
  );
}

type User = OperationResult<"listServiceUsers">[number];

/** The users of the database. */
function UsersPanel({ service }: { readonly service: Service }) {
  const query = useOperation("listServiceUsers", { params: { serviceId: service.id } });
  const [adding, setAdding] = useState(false);
  const add = (
    <Button small needs="admin" icon={Plus} onClick={() => setAdding(true)}>
      Add user
    </Button>
  );
  return (
    <Panel flush title="Users" actions={add}>
      <Answer query={query}>
        {(users) => <Table label="Users" columns={columnsOf(service.id)} rows={users} rowKey={({ name }) => name} />}
      </Answer>
      {adding && <NewUserDialog service={service} onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function columnsOf(serviceId: string): readonly Column<User>[] {
  return [
    { header: "Name", cell: ({ name }) => <code>{name}</code> },
    {
      header: "Rights",
      cell: ({ readonly }) => <Badge tone={readonly ? "neutral" : "info"}>{readonly ? "Read-only" : "All"}</Badge>,
    },
    { header: "Created", cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    { header: "", align: "end", cell: ({ name }) => <DeleteUserButton serviceId={serviceId} name={name} /> },
  ];
}

function DeleteUserButton({ serviceId, name }: { readonly serviceId: string; readonly name: string }) {
  const change = useChange("deleteServiceUser", {
    changes: ["listServiceUsers"],
    onDone: () => toast(`Deleted ${name}`),
  });
  const confirm = () => change.mutateAsync({ params: { serviceId, userName: name } });
  return (
    <DeleteButton
      kind="user"
      name={name}
      needs="admin"
      refusal={name === "default" ? "The user default stays; reset its password instead." : undefined}
      onDelete={confirm}
    >
      <p>Clients that sign in as {name} are refused from then on. Tables stay.</p>
    </DeleteButton>
  );
}

type NewUserDialogProps = { readonly service: Service; readonly onClose: () => void };

/** Creates a user of the database, and shows its password once. */
function NewUserDialog({ service, onClose }: NewUserDialogProps) {
  const [name, setName] = useState("");
  const [readonly, setReadonly] = useState(true);
  const create = useChange("createServiceUser", { changes: ["listServiceUsers"] });
  const { data, error } = create;
  if (data !== undefined) {
    return (
      <SecretDialog title={`User ${data.user.name}`} what="password" onKept={onClose}>
        <Secret label="Password" value={data.password} fileName={`${data.user.name}-password.txt`} />
      </SecretDialog>
    );
  }
  const submit = () => create.mutate({ params: { serviceId: service.id }, body: { name, readonly } });
  const busy = create.isPending;
  return (
    <FormDialog
      {...{ title: `Add a user to ${service.name}`, action: "Add user", busy, onClose, onSubmit: submit }}
      needs="admin"
      failure={placeless(error)}
    >
      <TextField label="Name" value={name} onChange={setName} error={error?.issueAt("name")} mono />
      <Checkbox
        label="Read-only"
        hint="May ask, and may not change tables or data."
        value={readonly}
        onChange={setReadonly}
      />
    </FormDialog>
  );
}

const route = getRouteApi("/services/$serviceId");

/** Who may connect: users of the database, and addresses. */
export function ServiceAccessTab() {
  const { serviceId } = route.useParams();
  const query = useOperation("getService", { params: { serviceId } }, { pace: paceOf });
  return (
    <Answer query={query}>
      {(service) => (
        <>
          <UsersPanel service={service} />
          <AccessListPanel service={service} />
        </>
      )}
    </Answer>
  );
}
