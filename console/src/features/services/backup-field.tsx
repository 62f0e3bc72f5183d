import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { bytesText, relativeText } from "../../lib/format.ts";
import { Combobox } from "../../parts/combobox.tsx";
import { Checkbox, type FormProps, fieldsOf } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Select } from "../../parts/select.tsx";
import type { ServiceForm } from "./create-form.ts";

/** The backup that fills the new service, and what becomes of its pipes. */
export function BackupField(props: FormProps<ServiceForm>) {
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
