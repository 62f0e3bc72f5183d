import { Checkbox, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { memoryOptions } from "./memory-sizes.ts";
import css from "./services.module.css";
import type { SettingsForm } from "./settings-form.ts";

type FieldsProps = { readonly form: SettingsForm; readonly onChange: (next: Partial<SettingsForm>) => void };

const periods = [6, 8, 12, 16, 20, 24, 36, 48];

export function SettingsFields({ form, onChange }: FieldsProps) {
  return (
    <>
      <Panel title="Service">
        <TextField label="Name" value={form.name} maxLength={50} onChange={(name) => onChange({ name })} />
        <TextField
          label="Tags"
          hint="key=value, separated by commas"
          value={form.tags}
          onChange={(tags) => onChange({ tags })}
        />
        <div className={css.pair}>
          <Select
            label="Memory limit"
            hint="Applied by a restart of the engine; clients wait, and no connection breaks."
            value={form.memory}
            options={memoryOptions(Number(form.memory))}
            onChange={(memory) => onChange({ memory })}
          />
          <TextField
            label="Disk quota in GiB"
            hint="Empty: no quota."
            inputMode="numeric"
            value={form.disk}
            onChange={(disk) => onChange({ disk })}
          />
        </div>
        <Select
          label="Release channel"
          value={form.releaseChannel}
          options={["slow", "default", "fast"].map((value) => ({ value, label: value }))}
          onChange={(releaseChannel) => onChange({ releaseChannel })}
        />
      </Panel>
      <Panel title="Sleep">
        <Checkbox
          label="Sleep while nobody asks it"
          hint="The next query wakes it in about 0.2 s."
          checked={form.idle}
          onChange={(idle) => onChange({ idle })}
        />
        <TextField
          label="Minutes without a query"
          hint="5 to 10,080"
          inputMode="numeric"
          value={form.idleMinutes}
          disabled={!form.idle}
          onChange={(idleMinutes) => onChange({ idleMinutes })}
        />
      </Panel>
      <ScheduleFields form={form} onChange={onChange} />
    </>
  );
}

function ScheduleFields({ form, onChange }: FieldsProps) {
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
      <div className={css.pair}>
        {isDaily ? (
          <TextField
            type="time"
            label="Time (UTC)"
            value={form.backupTime}
            onChange={(backupTime) => onChange({ backupTime })}
          />
        ) : (
          <Select
            label="Hours between backups"
            value={form.backupHours}
            options={periods.map((hours) => ({ value: String(hours), label: `${hours} h` }))}
            onChange={(backupHours) => onChange({ backupHours })}
          />
        )}
        <TextField
          label="Days that backups are kept"
          hint="1 to 45"
          inputMode="numeric"
          value={form.retentionDays}
          onChange={(retentionDays) => onChange({ retentionDays })}
        />
      </div>
    </Panel>
  );
}
