import { type FormProps, fieldsOf, TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import { type Interval, intervals, intervalText, isRange, type ThresholdType, thresholdTypes } from "./alert.ts";
import { type AlertForm, metricOf } from "./alert-form.ts";
import { isYesOrNo } from "./states.ts";

const types = Object.entries(thresholdTypes) as [ThresholdType, string][];

/** The threshold, the length of windows, and how many must pass it. */
export function ConditionFields(props: FormProps<AlertForm>) {
  return (
    <>
      {!isYesOrNo(metricOf(props.form)) && <ThresholdFields {...props} />}
      <WindowFields {...props} />
    </>
  );
}

function ThresholdFields(props: FormProps<AlertForm>) {
  const field = fieldsOf(props);
  const range = isRange(props.form.thresholdType);
  return (
    <div className="cells pair">
      <Select
        label="Value is"
        {...field("thresholdType")}
        options={types.map(([value, label]) => ({ value, label }))}
      />
      <TextField label={range ? "From" : "Threshold"} inputMode="decimal" {...field("threshold")} />
      {range && <TextField label="To" inputMode="decimal" {...field("thresholdMax")} />}
    </div>
  );
}

function WindowFields(props: FormProps<AlertForm>) {
  const field = fieldsOf(props);
  return (
    <>
      <div className="cells pair">
        <Select
          label="Window"
          hint="Length of a window, and time between two evaluations."
          {...field("interval")}
          options={intervals.map((value: Interval) => ({ value, label: intervalText(value) }))}
        />
        <TextField
          label="Windows in a row"
          hint="1 to 100 that must fulfil the condition."
          inputMode="numeric"
          {...field("windows", "numConsecutiveWindows")}
        />
      </div>
      <Select
        label="A window without a value"
        {...field("noData")}
        options={[
          { value: "keep", label: "says nothing: the state before it counts" },
          { value: "alert", label: "fires" },
          { value: "ok", label: "is well" },
        ]}
      />
    </>
  );
}
