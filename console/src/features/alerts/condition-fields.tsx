import { type FormProps, fieldsOf, TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import { type Interval, intervals, intervalText, isRange, type ThresholdType, thresholdTypes } from "./alert.ts";
import { type AlertForm, metricOf } from "./alert-form.ts";
import { isYesOrNo, stateMetrics } from "./states.ts";

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
  const metric = metricOf(props.form);
  const withoutValue = metric === undefined ? "A window without a value" : stateMetrics[metric].withoutValue;
  return (
    <>
      <div className="cells pair">
        <Select
          label={metric === undefined ? "Window" : "Evaluated every"}
          {...(metric === undefined ? { hint: "Length of a window, and time between two evaluations." } : {})}
          {...field("interval")}
          options={intervals.map((value: Interval) => ({ value, label: intervalText(value) }))}
        />
        <TextField
          label={metric === undefined ? "Windows in a row" : "Evaluations in a row"}
          hint="1 to 100 that must fulfil the condition."
          inputMode="numeric"
          {...field("windows", "numConsecutiveWindows")}
        />
      </div>
      {withoutValue !== undefined && (
        <Select
          label={withoutValue}
          {...field("noData")}
          options={[
            { value: "keep", label: "says nothing: the state before it counts" },
            { value: "alert", label: "fires" },
            { value: "ok", label: "is well" },
          ]}
        />
      )}
    </>
  );
}
