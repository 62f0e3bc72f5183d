import { Pencil } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { refetch, useChange } from "../../api/queries.ts";
import { IconButton } from "../../parts/button.tsx";
import { DeleteButton, Dialog, FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import type { Source } from "./source.ts";
import { SourceSuggestions } from "./source-suggestions.tsx";

type SourcesDialogProps = { readonly sources: readonly Source[]; readonly onClose: () => void };

/** Sources that exist, to change and delete them, and tables that can become one. */
export function SourcesDialog({ sources, onClose }: SourcesDialogProps) {
  const [edited, setEdited] = useState<Source>();
  const columns: readonly Column<Source>[] = [
    { header: "Source", cell: ({ name }) => name },
    { header: "Table", cell: (source) => <code>{tableOf(source)}</code> },
    {
      header: "Actions",
      align: "end",
      cell: (source) => (
        <span className="row">
          <IconButton
            small
            needs="developer"
            label={`Edit ${source.name}`}
            icon={Pencil}
            onClick={() => setEdited(source)}
          />
          <DeleteButton name={source.name} onDelete={() => remove(source.id)}>
            Charts, searches and alerts of the source answer nothing afterwards. The table and its rows stay.
          </DeleteButton>
        </span>
      ),
    },
  ];
  const remove = async (id: string) => {
    await call("deleteSource", { params: { id } });
    await refetch("listSources", "suggestSources");
  };
  return (
    <Dialog open wide title="Sources" onClose={onClose}>
      <Table label="Sources" columns={columns} rows={sources} />
      <h3>Add a table</h3>
      <SourceSuggestions />
      {edited !== undefined && <EditDialog source={edited} onClose={() => setEdited(undefined)} />}
    </Dialog>
  );
}

function tableOf({ from }: Source): string {
  const { databaseName, tableName } = (from ?? {}) as { databaseName?: string; tableName?: string };
  return tableName === undefined ? "tables of metrics" : `${databaseName}.${tableName}`;
}

/** Expressions that people change; the others stay as they are. */
const members = {
  name: "Name",
  timestampValueExpression: "Time",
  bodyExpression: "Text of a row",
  severityTextExpression: "Severity",
  serviceNameExpression: "Service",
} as const;

function EditDialog({ source, onClose }: { readonly source: Source; readonly onClose: () => void }) {
  const names = Object.keys(members) as (keyof typeof members)[];
  const [texts, setTexts] = useState(() => Object.fromEntries(names.map((name) => [name, source[name] ?? ""])));
  const change = useChange("replaceSource", { changes: ["listSources", "queryChart", "searchRows", "listFields"] });
  const { attempt, busy, error } = useAttempt();
  const save = () => {
    const changed = Object.fromEntries(
      names.map((name) => [name, texts[name]?.trim() === "" ? undefined : texts[name]?.trim()]),
    );
    const body = { ...source, ...changed } as never;
    void attempt(() => change.mutateAsync({ params: { id: source.id }, body }).then(onClose));
  };
  return (
    <FormDialog
      {...{ title: `Edit ${source.name}`, action: "Save", busy, onClose, onSubmit: save }}
      layered
      needs="developer"
      failure={error?.message}
    >
      {names.map((name) => (
        <TextField
          key={name}
          label={members[name]}
          mono={name !== "name"}
          value={texts[name] ?? ""}
          onChange={(text) => setTexts({ ...texts, [name]: text })}
        />
      ))}
    </FormDialog>
  );
}
