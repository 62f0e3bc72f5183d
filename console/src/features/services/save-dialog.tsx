import { call } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { Button } from "../../parts/button.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import type { Service } from "./service.ts";
import { type Difference, type SettingsForm, saveSettings, settingsOf } from "./settings-form.ts";

type Loaded = { readonly service: Service; readonly form: SettingsForm };

type SaveDialogProps = {
  readonly loaded: Loaded;
  readonly form: SettingsForm;
  readonly differences: readonly Difference[];
  readonly onClose: () => void;
  /** With what the server says afterwards. */
  readonly onSaved: (next: Loaded) => void;
};

const columns: readonly Column<Difference>[] = [
  { key: "label", header: "Setting", cell: ({ label }) => label },
  { key: "before", header: "Now", cell: ({ before }) => <del>{before}</del> },
  { key: "after", header: "New", cell: ({ after }) => <ins style={{ textDecoration: "none" }}>{after}</ins> },
];

/** Shows what will change before it does. */
export function SaveDialog({ loaded, form, differences, onClose, onSaved }: SaveDialogProps) {
  const { attempt, busy, error } = useAttempt();
  const save = async () => {
    await saveSettings(loaded, form);
    onSaved(await load(loaded.service.id));
    toast("Settings saved");
  };
  const reload = async () => onSaved(await load(loaded.service.id));
  return (
    <FormDialog
      {...{ title: "Save these changes?", action: "Save", busy, onClose, onSubmit: () => void attempt(save) }}
      wide
      needs="admin"
      more={error?.status === 412 && <Button onClick={() => void attempt(reload)}>Load the other version</Button>}
      failure={error && sentenceOf(error)}
    >
      <Table label="Changes" columns={columns} rows={differences} rowKey={({ member }) => member} />
    </FormDialog>
  );
}

function sentenceOf(error: ApiError): string {
  return error.status === 412 ? `Someone else has changed this service meanwhile. ${error.message}` : error.message;
}

async function load(serviceId: string): Promise<Loaded> {
  const params = { serviceId };
  const [service, backups] = await Promise.all([
    call("getService", { params }),
    call("getBackupConfiguration", { params }),
  ]);
  return { service, form: settingsOf(service, backups) };
}
