import { type FormProps, fieldsOf, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { memoryOptions } from "./memory-sizes.ts";
import type { SettingsForm } from "./settings-form.ts";
import { SleepPanel } from "./sleep-panel.tsx";

const periods = [6, 8, 12, 16, 20, 24, 36, 48];

export function SettingsFields(props: FormProps<SettingsForm>) {
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
            options={memoryOptions(Number(form.memory))}
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
