import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useChange, useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { bytesText, relativeText } from "../../lib/format.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { Combobox } from "../../parts/combobox.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { Checkbox, type FormProps, fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { ConnectDialog } from "./connect-dialog.tsx";
import { accessListOf, defaultForm, type ServiceForm, serviceBodyOf } from "./create-form.ts";
import { memoryOptions, SleepPanel } from "./shared-fields.tsx";

/** A new database, from nothing or from a backup. */
export function CreateServicePage() {
  const navigate = useNavigate();
  const [form, setForm] = useState<ServiceForm>(defaultForm);
  const create = useChange("createService", { changes: ["listServices"] });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate({ body: serviceBodyOf(form) });
  };
  const created = create.data;
  return (
    <Page title="Create service" needs="admin">
      <UnsavedDialog isChanged={created === undefined && JSON.stringify(form) !== JSON.stringify(defaultForm)} />
      <form onSubmit={submit} noValidate className="form">
        <Fields form={form} onChange={(next) => setForm({ ...form, ...next })} error={create.error} />
        {create.error !== null && create.error.issues.length === 0 && <Note tone="bad">{create.error.message}</Note>}
        <div className="row">
          <Button type="submit" look="primary" needs="admin" busy={create.isPending}>
            Create service
          </Button>
          <ButtonLink to="/services">Cancel</ButtonLink>
        </div>
      </form>
      {created !== undefined && (
        <ConnectDialog
          service={created.service}
          password={created.password}
          onClose={() => void navigate({ to: "/services/$serviceId", params: { serviceId: created.service.id } })}
        />
      )}
    </Page>
  );
}

function Fields(props: FormProps<ServiceForm>) {
  const { error } = props;
  const field = fieldsOf(props);
  return (
    <>
      <Panel title="Database">
        <TextField label="Name" {...field("name")} autoFocus maxLength={50} />
        <div className="cells pair">
          <Select
            label="Memory limit"
            hint="The engine takes only what its queries need."
            {...field("memory")}
            options={[{ value: "", label: "Default" }, ...memoryOptions()]}
            error={error?.issueAt("minReplicaMemoryGb") ?? error?.issueAt("maxReplicaMemoryGb")}
          />
          <TextField
            label="Disk quota in GiB"
            hint="Empty: the default of the server."
            inputMode="numeric"
            {...field("disk", "diskGb")}
          />
        </div>
        <TextField label="Tags" hint="key=value, separated by commas" {...field("tags")} />
      </Panel>
      <SleepPanel {...props} />
      <AccessField {...props} />
      <Panel title="Content">
        <BackupField {...props} />
      </Panel>
    </>
  );
}

function AccessField(props: FormProps<ServiceForm>) {
  const { form, error } = props;
  const field = fieldsOf(props);
  return (
    <Panel title="Who may connect">
      <Select
        label="Addresses"
        {...field("access")}
        options={[
          { value: "machine", label: "This machine only" },
          { value: "anywhere", label: "Any address, with user and password" },
          { value: "list", label: "A list of addresses" },
        ]}
      />
      {form.access === "list" && (
        <TextArea
          mono
          label="List"
          hint="One address or CIDR range per line, for example 10.0.0.0/8."
          {...field("addresses")}
          error={listError(form, error)}
        />
      )}
    </Panel>
  );
}

/** The first wrong line, with its text. */
function listError(form: ServiceForm, error: FormProps<ServiceForm>["error"]): string | undefined {
  const issue = error?.issues.find(({ path }) => path.startsWith("ipAccessList"));
  if (issue === undefined) return undefined;
  const index = Number(/^ipAccessList\.(\d+)/.exec(issue.path)?.[1] ?? -1);
  const line = accessListOf(form)[index]?.source;
  return line === undefined ? issue.message : `${line}: ${issue.message}`;
}

/** The backup that fills the new service, and what becomes of its pipes. */
function BackupField(props: FormProps<ServiceForm>) {
  const field = fieldsOf(props);
  const { data } = useOperation("listAllBackups", {}, { pace: "never" });
  const backups = (data ?? []).filter(({ status }) => status === "done");
  const chosen = backups.find(({ id }) => id === props.form.backupId);
  const options = backups.map((backup) => ({
    value: backup.id,
    label: `${backup.backupName}, ${relativeText(Date.parse(backup.finishedAt ?? backup.startedAt), serverNow())}`,
    detail: `${bytesText(backup.sizeInBytes)}, ${backup.verification === "passed" ? "verified" : backup.verification}`,
  }));
  return (
    <>
      <Combobox
        label="From a backup"
        hint="Empty: the service begins without tables."
        placeholder={backups.length === 0 ? "There are no backups yet" : "Name of a backup"}
        {...field("backupId")}
        options={options}
      />
      {chosen !== undefined && (
        <Select
          label="Pipes of the backup"
          {...field("restorePipes")}
          options={[
            { value: "stopped", label: "Create them stopped" },
            { value: "running", label: "Create and start them" },
            { value: "none", label: "Leave them out" },
          ]}
        />
      )}
      {chosen !== undefined && chosen.verification !== "passed" && (
        <Note tone="warn">
          <p>This backup has not passed a check; its page under Backups says why.</p>
          <Checkbox label="Restore what can be read of it" {...field("force")} />
        </Note>
      )}
    </>
  );
}
