import { Plus } from "lucide-react";
import { useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { DeleteButton } from "../../parts/dialog.tsx";
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
