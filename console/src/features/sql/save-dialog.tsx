import { useState } from "react";
import { call } from "../../api/client.ts";
import { refetch } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { titleOf } from "./drafts.ts";
import { changeTab, type QueryTab } from "./query-tabs.ts";

type SaveDialogProps = { readonly tab: QueryTab; readonly serviceId: string | undefined; readonly onClose: () => void };

/** Saves the text of a tab for everybody, under its name or a new one. */
export function SaveDialog({ tab, serviceId, onClose }: SaveDialogProps) {
  const [name, setName] = useState(titleOf(tab));
  const { attempt, busy, error } = useAttempt();
  const save = async (asNew: boolean) => {
    const content = { text: tab.text, params: tab.params, ...(serviceId === undefined ? {} : { serviceId }) };
    const saved =
      tab.saved === undefined || asNew
        ? await call("createSavedObject", { body: { kind: "query", name, content } })
        : await call("updateSavedObject", {
            params: { savedObjectId: tab.saved.id },
            body: { version: tab.saved.version, name, content },
          });
    changeTab(tab.id, { title: name, saved: { id: saved.id, version: saved.version } });
    await refetch("listSavedObjects");
    toast(`${name} is saved.`);
    onClose();
  };
  return (
    <FormDialog
      {...{ title: "Save query", action: "Save", busy, onClose, onSubmit: () => void attempt(() => save(false)) }}
      needs="developer"
      more={
        tab.saved !== undefined && (
          <Button needs="developer" busy={busy} onClick={() => void attempt(() => save(true))}>
            Save as new
          </Button>
        )
      }
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        error={error?.message}
        hint="Every key of the organization can read the query and the values of its parameters. Save no secrets in it."
      />
    </FormDialog>
  );
}
