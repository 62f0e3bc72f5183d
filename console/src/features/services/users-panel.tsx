import { Plus } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { placeless } from "../../api/error.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { DeleteButton, FormDialog } from "../../parts/dialog.tsx";
import { Checkbox, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import type { Service } from "./service.ts";

type User = OperationResult<"listServiceUsers">[number];

/** The users of the database. */
export function UsersPanel({ service }: { readonly service: Service }) {
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
    { key: "name", header: "Name", cell: ({ name }) => <code>{name}</code> },
    {
      key: "rights",
      header: "Rights",
      cell: ({ readonly }) => <Badge tone={readonly ? "neutral" : "info"}>{readonly ? "Read-only" : "All"}</Badge>,
    },
    { key: "created", header: "Created", cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    {
      key: "delete",
      header: "",
      align: "end",
      cell: ({ name }) => <DeleteUserButton serviceId={serviceId} name={name} />,
    },
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
