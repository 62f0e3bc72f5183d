import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { NewUserDialog } from "./new-user-dialog.tsx";
import type { Service } from "./service.ts";

type User = OperationResult<"listServiceUsers">[number];

/** The users of the database. */
export function UsersPanel({ service }: { readonly service: Service }) {
  const query = useOperation("listServiceUsers", { params: { serviceId: service.id } });
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<string>();
  const add = (
    <Button small needs="admin" icon={Plus} onClick={() => setAdding(true)}>
      Add user
    </Button>
  );
  return (
    <Panel flush title="Users" actions={add}>
      <Answer query={query}>
        {(users) => <Table label="Users" columns={columnsWith(setDeleting)} rows={users} rowKey={({ name }) => name} />}
      </Answer>
      {adding && <NewUserDialog service={service} onClose={() => setAdding(false)} />}
      {deleting !== undefined && (
        <DeleteUserDialog service={service} name={deleting} onClose={() => setDeleting(undefined)} />
      )}
    </Panel>
  );
}

function columnsWith(onDelete: (name: string) => void): readonly Column<User>[] {
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
      header: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: ({ name }) => (
        <IconButton
          small
          label={`Delete ${name}`}
          icon={Trash2}
          needs="admin"
          refusal={name === "default" ? "The user default stays; reset its password instead." : undefined}
          onClick={() => onDelete(name)}
        />
      ),
    },
  ];
}

type DeleteUserProps = { readonly service: Service; readonly name: string; readonly onClose: () => void };

function DeleteUserDialog({ service, name, onClose }: DeleteUserProps) {
  const change = useChange("deleteServiceUser", {
    changes: ["listServiceUsers"],
    onDone: () => toast(`Deleted ${name}`),
  });
  const confirm = () => change.mutateAsync({ params: { serviceId: service.id, userName: name } });
  return (
    <ConfirmDialog
      danger
      needs="admin"
      title={`Delete user ${name}?`}
      action="Delete user"
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Clients that sign in as {name} are refused from then on. Tables stay.</p>
    </ConfirmDialog>
  );
}
