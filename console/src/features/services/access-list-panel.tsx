import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { sessionStore } from "../../api/session-state.ts";
import { useStore } from "../../lib/store.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog, Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { admits } from "./admitted.ts";
import type { Service } from "./service.ts";
import css from "./services.module.css";

type Entry = Service["ipAccessList"][number];

/** The addresses that may connect. */
export function AccessListPanel({ service }: { readonly service: Service }) {
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Entry>();
  const entries = service.ipAccessList;
  const address = useStore(sessionStore).identity?.address ?? "";
  const isAdmitted = entries.some(({ source }) => admits(source, address));
  const columns: readonly Column<Entry>[] = [
    {
      key: "source",
      header: "Address or range",
      cell: ({ source }) => (
        <>
          <code>{source}</code> {admits(source, address) && <Badge tone="ok">Admits you</Badge>}
        </>
      ),
    },
    { key: "description", header: "Description", cell: ({ description }) => description || "–" },
    {
      key: "remove",
      header: <span className="visually-hidden">Actions</span>,
      align: "end",
      cell: (entry) => (
        <IconButton
          small
          needs="admin"
          label={`Remove ${entry.source}`}
          icon={Trash2}
          onClick={() => setRemoving(entry)}
        />
      ),
    },
  ];
  const add = (
    <Button small needs="admin" icon={Plus} onClick={() => setAdding(true)}>
      Add address
    </Button>
  );
  return (
    <Panel flush title="Addresses that may connect" actions={add}>
      {entries.length === 0 ? (
        <EmptyState title="Nobody may connect">
          Clients need an address in this list. The console needs none.
        </EmptyState>
      ) : (
        <Table label="Addresses" columns={columns} rows={entries} rowKey={({ source }) => source} />
      )}
      <p className={css.own}>
        Your address is <code>{address}</code>
        {isAdmitted ? "." : ": no entry admits it. The console works; clients at this address cannot connect."}
      </p>
      {adding && <AddDialog service={service} onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <RemoveDialog service={service} entry={removing} onClose={() => setRemoving(undefined)} />
      )}
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
    if (!change.isPending) change.mutate({ params: { serviceId: service.id }, body: { ipAccessList } });
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" needs="admin" busy={change.isPending}>
        Add address
      </Button>
    </>
  );
  return (
    <Dialog open title="Add an address" onClose={onClose} actions={actions} onSubmit={submit}>
      <TextField
        mono
        autoFocus
        label="Address or CIDR range"
        hint="For example 203.0.113.7 or 10.0.0.0/8"
        value={source}
        error={error?.issueAt("ipAccessList")}
        onChange={setSource}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      {error !== null && error.issues.length === 0 && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}

function RemoveDialog({ service, entry, onClose }: DialogProps & { readonly entry: Entry }) {
  const change = useChange("updateService", { changes: ["getService", "listServices"] });
  const isLast = service.ipAccessList.length === 1;
  const confirm = () =>
    change.mutateAsync({ params: { serviceId: service.id }, body: { ipAccessList: { remove: [entry] } } });
  return (
    <ConfirmDialog
      danger
      needs="admin"
      title={`Remove ${entry.source}?`}
      action="Remove address"
      {...(isLast ? { typed: service.name } : {})}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Clients with an address that only this entry allows are refused from then on.</p>
      {isLast && <Note tone="warn">This is the last entry: without it, nobody can connect.</Note>}
    </ConfirmDialog>
  );
}
