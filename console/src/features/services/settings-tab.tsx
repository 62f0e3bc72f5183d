import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import type { ApiError } from "../../api/error.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { FormDialog, UnsavedDialog } from "../../parts/dialog.tsx";
import { type FormProps, fieldsOf, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import type { Service } from "./service.ts";
import {
  type BackupConfiguration,
  type Difference,
  differencesOf,
  type SettingsForm,
  saveSettings,
  settingsOf,
} from "./settings-form.ts";
import { memoryOptions, SleepPanel } from "./shared-fields.tsx";

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
          onPart={setLoaded}
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

const retentionColumns: readonly Column<Entry>[] = [
  { header: "Backup", cell: ({ backupName }) => backupName },
  { header: "Now", cell: ({ keep }) => <Badge tone={keep ? "ok" : "warn"}>{keep ? "Kept" : "Removed"}</Badge> },
  { header: "Reason", cell: ({ reason }) => reason },
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
            columns={retentionColumns}
            rows={entries}
            rowKey={({ backupId }) => backupId}
          />
        )}
      </Answer>
    </Panel>
  );
}

const periods = [6, 8, 12, 16, 20, 24, 36, 48];

function SettingsFields(props: FormProps<SettingsForm>) {
  const { form } = props;
  const field = fieldsOf(props);
  return (
    <>
      <Panel title="Service">
        <TextField label="Name" {...field("name")} maxLength={50} />
        <TextField label="Tags" hint="key=value, separated by commas" {...field("tags")} />
        <div className="cells pair">
          <Select
            label="Memory limit"
            hint="Applied by a restart of the engine; clients wait, and no connection breaks."
            {...field("memory")}
            options={memoryOptions(typedNumber(form.memory))}
          />
          <TextField label="Disk quota in GiB" hint="Empty: no quota." inputMode="numeric" {...field("disk")} />
        </div>
        <Select label="Release channel" {...field("releaseChannel")} options={["slow", "default", "fast"]} />
      </Panel>
      <SleepPanel {...props} />
      <ScheduleFields {...props} />
    </>
  );
}

function ScheduleFields(props: FormProps<SettingsForm>) {
  const { form, onChange } = props;
  const field = fieldsOf(props);
  const isDaily = form.backupTime !== "";
  return (
    <Panel title="Backups">
      <Select
        label="Schedule"
        value={isDaily ? "daily" : "period"}
        options={[
          { value: "period", label: "Every few hours" },
          { value: "daily", label: "Once a day at a fixed time" },
        ]}
        onChange={(kind) => onChange({ backupTime: kind === "daily" ? "03:00" : "" })}
      />
      <div className="cells pair">
        {isDaily ? (
          <TextField type="time" label="Time (UTC)" {...field("backupTime")} />
        ) : (
          <Select
            label="Hours between backups"
            {...field("backupHours")}
            options={periods.map((hours) => ({ value: String(hours), label: `${hours} h` }))}
          />
        )}
        <TextField label="Days that backups are kept" hint="1 to 45" inputMode="numeric" {...field("retentionDays")} />
      </div>
    </Panel>
  );
}

type Loaded = { readonly service: Service; readonly form: SettingsForm };

type SaveDialogProps = {
  readonly loaded: Loaded;
  readonly form: SettingsForm;
  readonly differences: readonly Difference[];
  readonly onClose: () => void;
  /** With what the server says after a part was saved, or all. */
  readonly onPart: (next: Loaded) => void;
  readonly onSaved: (next: Loaded) => void;
};

const changeColumns: readonly Column<Difference>[] = [
  { header: "Setting", cell: ({ label }) => label },
  { header: "Now", cell: ({ before }) => <del>{before}</del> },
  { header: "New", cell: ({ after }) => <ins style={{ textDecoration: "none" }}>{after}</ins> },
];

/** Shows what will change before it does. */
function SaveDialog({ loaded, form, differences, onClose, onPart, onSaved }: SaveDialogProps) {
  const { attempt, busy, error } = useAttempt();
  const save = async () => {
    await saveSettings(loaded, form, async () => onPart(await load(loaded.service.id)));
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
      <Table label="Changes" columns={changeColumns} rows={differences} rowKey={({ member }) => member} />
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
