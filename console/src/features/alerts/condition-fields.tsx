import type { ApiError } from "../../api/error.ts";
import { TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import { type Interval, intervals, intervalText, isRange, type ThresholdType, thresholdTypes } from "./alert.ts";
import { type AlertForm, metricOf } from "./alert-form.ts";
import css from "./alerts.module.css";
import { isYesOrNo } from "./states.ts";

type ConditionFieldsProps = {
  readonly form: AlertForm;
  readonly onChange: (next: Partial<AlertForm>) => void;
  readonly error: ApiError | undefined;
};

const types = Object.entries(thresholdTypes) as [ThresholdType, string][];

/** The threshold, the length of windows, and how many must pass it. */
export function ConditionFields({ form, onChange, error }: ConditionFieldsProps) {
  return (
    <>
      {!isYesOrNo(metricOf(form)) && <ThresholdFields {...{ form, onChange, error }} />}
      <WindowFields {...{ form, onChange, error }} />
    </>
  );
}

function ThresholdFields({ form, onChange, error }: ConditionFieldsProps) {
  const range = isRange(form.thresholdType);
  return (
    <div className={css.pair}>
      <Select
        label="Value is"
        value={form.thresholdType}
        options={types.map(([value, label]) => ({ value, label }))}
        error={error?.issueAt("thresholdType")}
        onChange={(thresholdType) => onChange({ thresholdType })}
      />
      <TextField
        label={range ? "From" : "Threshold"}
        inputMode="decimal"
        value={form.threshold}
        error={error?.issueAt("threshold")}
        onChange={(threshold) => onChange({ threshold })}
      />
      {range && (
        <TextField
          label="To"
          inputMode="decimal"
          value={form.thresholdMax}
          error={error?.issueAt("thresholdMax")}
          onChange={(thresholdMax) => onChange({ thresholdMax })}
        />
      )}
    </div>
  );
}

function WindowFields({ form, onChange, error }: ConditionFieldsProps) {
  return (
    <>
      <div className={css.pair}>
        <Select
          label="Window"
          hint="Length of a window, and time between two evaluations."
          value={form.interval}
          options={intervals.map((value: Interval) => ({ value, label: intervalText(value) }))}
          error={error?.issueAt("interval")}
          onChange={(interval) => onChange({ interval })}
        />
        <TextField
          label="Windows in a row"
          hint="1 to 100 that must fulfil the condition."
          inputMode="numeric"
          value={form.windows}
          error={error?.issueAt("numConsecutiveWindows")}
          onChange={(windows) => onChange({ windows })}
        />
      </div>
      <Select
        label="A window without a value"
        value={form.noData}
        options={[
          { value: "keep", label: "says nothing: the state before it counts" },
          { value: "alert", label: "fires" },
          { value: "ok", label: "is well" },
        ]}
        error={error?.issueAt("noData")}
        onChange={(noData) => onChange({ noData })}
      />
    </>
  );
}
