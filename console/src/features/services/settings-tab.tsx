import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { OperationResult } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { Panel } from "../../parts/page.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { SaveDialog } from "./save-dialog.tsx";
import type { Service } from "./service.ts";
import { SettingsFields } from "./settings-fields.tsx";
import { type BackupConfiguration, differencesOf, type SettingsForm, settingsOf } from "./settings-form.ts";

const route = getRouteApi("/services/$serviceId");

/** What can be changed of a service. The form is made once: a refresh does not undo what is typed. */
export function ServiceSettingsTab() {
  const { serviceId } = route.useParams();
  const params = { serviceId };
  const service = useOperation("getService", { params });
  const backups = useOperation("getBackupConfiguration", { params }, { pace: "never" });
  return (
    <Answer query={service}>
      {(found) => (
        <Answer query={backups}>
          {(configuration) => <Settings key={serviceId} service={found} backups={configuration} />}
        </Answer>
      )}
    </Answer>
  );
}

type SettingsProps = { readonly service: Service; readonly backups: BackupConfiguration };

function Settings({ service, backups }: SettingsProps) {
  const [loaded, setLoaded] = useState(() => ({ service, form: settingsOf(service, backups) }));
  const [form, setForm] = useState<SettingsForm>(loaded.form);
  const [saving, setSaving] = useState(false);
  const differences = differencesOf(loaded.form, form);
  const start = (next: { service: Service; form: SettingsForm }) => {
    setLoaded(next);
    setForm(next.form);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (differences.length > 0) setSaving(true);
  };
  return (
    <>
      <form className="form" onSubmit={submit} noValidate>
        <SettingsFields form={form} onChange={(next) => setForm({ ...form, ...next })} />
        <div className="row">
          <Button
            type="submit"
            look="primary"
            needs="admin"
            refusal={differences.length === 0 ? "Nothing is changed." : undefined}
          >
            Review changes
          </Button>
          {differences.length > 0 && <Button onClick={() => setForm(loaded.form)}>Discard</Button>}
        </div>
      </form>
      <UnsavedDialog isChanged={differences.length > 0} />
      <RetentionPanel serviceId={service.id} />
      {saving && (
        <SaveDialog
          loaded={loaded}
          form={form}
          differences={differences}
          onClose={() => setSaving(false)}
          onSaved={(next) => {
            start(next);
            setSaving(false);
            void refetch("getService", "listServices", "getBackupConfiguration", "previewRetention");
          }}
        />
      )}
    </>
  );
}

type Entry = OperationResult<"previewRetention">[number];

const columns: readonly Column<Entry>[] = [
  { key: "backup", header: "Backup", cell: ({ backupName }) => backupName },
  {
    key: "keep",
    header: "Now",
    cell: ({ keep }) => <Badge tone={keep ? "ok" : "warn"}>{keep ? "Kept" : "Removed"}</Badge>,
  },
  { key: "reason", header: "Reason", cell: ({ reason }) => reason },
];

/** What retention does with the backups that exist. */
function RetentionPanel({ serviceId }: { readonly serviceId: string }) {
  const query = useOperation("previewRetention", { params: { serviceId } }, { pace: "slow" });
  return (
    <Panel
      flush
      title="What retention does with the backups now"
      actions={<span className="muted">by the saved settings</span>}
    >
      <Answer query={query}>
        {(entries) => (
          <Table
            none={<EmptyState title="No backups yet">The schedule makes the first one.</EmptyState>}
            label="Retention"
            columns={columns}
            rows={entries}
            rowKey={({ backupId }) => backupId}
          />
        )}
      </Answer>
    </Panel>
  );
}
