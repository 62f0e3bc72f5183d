import { FolderSearch } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Note } from "../../parts/note.tsx";
import { toastError } from "../../parts/toast.tsx";

/** Looks for backups that exist at the backup location and are not listed. */
export function RescanButton() {
  const [open, setOpen] = useState(false);
  const change = useChange("rescanBackups", {
    changes: ["listAllBackups", "listBackups", "listServices"],
    onDone: () => setOpen(true),
  });
  const { data } = change;
  return (
    <>
      <Button
        needs="admin"
        icon={FolderSearch}
        busy={change.isPending}
        onClick={() => change.mutate({}, { onError: toastError })}
      >
        Look for backups
      </Button>
      {open && data !== undefined && (
        <Dialog
          open
          title="Backups at the backup location"
          onClose={() => setOpen(false)}
          actions={<Button onClick={() => setOpen(false)}>Close</Button>}
        >
          <p>
            {data.adopted === 0 ? "No backup was missing from the list." : `${data.adopted} backups were added.`}{" "}
            {data.removed > 0 && `Leftovers of ${data.removed} interrupted backups were removed.`}
          </p>
          {data.unreadable.length > 0 && (
            <Note tone="warn">
              These could not be read: {data.unreadable.join("; ")}. Encrypted backups need the key of the server that
              made them.
            </Note>
          )}
        </Dialog>
      )}
    </>
  );
}
