import { Checkbox, type FormProps, fieldsOf, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";

/** When the service sleeps. */
export function SleepPanel(props: FormProps<{ readonly idle: boolean; readonly idleMinutes: string }>) {
  const field = fieldsOf(props);
  return (
    <Panel title="Sleep">
      <Checkbox
        label="Sleep while nobody asks it"
        hint="A sleeping service takes no memory. The next query wakes it in about 0.2 s, and no connection breaks."
        {...field("idle")}
      />
      {props.form.idle && (
        <TextField
          label="Minutes without a query"
          hint="5 to 10,080"
          inputMode="numeric"
          {...field("idleMinutes", "idleTimeoutMinutes")}
        />
      )}
    </Panel>
  );
}

/** Sizes of memory that a service can have, in GiB, as choices. */
const sizes = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 356];

export function memoryOptions(present?: number) {
  const all = present === undefined || sizes.includes(present) ? sizes : [...sizes, present].toSorted((a, b) => a - b);
  return all.map((size) => ({ value: String(size), label: `${size} GiB` }));
}
