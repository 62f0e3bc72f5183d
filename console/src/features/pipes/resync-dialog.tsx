import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Select } from "../../parts/select.tsx";
import { toast } from "../../parts/toast.tsx";
import { type PipeSubject, pipeReads } from "./pipe-commands.ts";

type Rows = "keep" | "truncate";

/** Loads everything again. What becomes of the rows that are there is the user's choice, and said before. */
export function ResyncDialog({ pipe, onClose }: { readonly pipe: PipeSubject; readonly onClose: () => void }) {
  const [rows, setRows] = useState<Rows>("truncate");
  const change = useChange("updatePipeState", {
    changes: pipeReads,
    onDone: () => toast(`${pipe.name} begins again.`, "info"),
  });
  const isDatabase = pipe.kind === "relationalDb";
  const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
  const body = { command: "resync" as const, ...(isDatabase ? {} : { rows }) };
  return (
    <ConfirmDialog
      title={`Resync ${pipe.name}`}
      action="Resync"
      danger={!isDatabase && rows === "truncate"}
      needs="developer"
      onConfirm={() => change.mutateAsync({ params, body })}
      onClose={onClose}
    >
      {isDatabase ? (
        <p>
          All tables are copied again into new tables, which take the place of the old ones when they are complete.
          Queries see the old rows until then.
        </p>
      ) : (
        <>
          <p>The pipe reads its source from the beginning again.</p>
          <Select<Rows>
            label="Rows that are in the table"
            value={rows}
            onChange={setRows}
            options={[
              { value: "truncate", label: "Delete them first" },
              { value: "keep", label: "Keep them: rows that are loaded again are there twice" },
            ]}
          />
        </>
      )}
    </ConfirmDialog>
  );
}
