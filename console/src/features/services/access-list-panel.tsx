import { Plus } from "lucide-react";
import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { sessionStore } from "../../api/session-state.ts";
import { useStore } from "../../lib/store.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { DeleteButton, FormDialog } from "../../parts/dialog.tsx";
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
    { key: "remove", header: "", align: "end", cell: (entry) => <RemoveButton service={service} entry={entry} /> },
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
