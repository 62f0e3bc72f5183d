import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { call } from "../../api/client.ts";
import type { Bounds } from "../../charts/time-range.ts";
import type { DashboardVariable, VariableValues } from "../../charts/variables.ts";
import { zoneStore } from "../../lib/zone.ts";
import { inputClass } from "../../parts/field.tsx";
import css from "./dashboards.module.css";

type VariableBarProps = {
  readonly variables: readonly DashboardVariable[];
  readonly values: VariableValues;
  readonly bounds: Bounds;
  readonly onChange: (values: VariableValues) => void;
};

const offeredValues = 50;

/** One input for each variable. Its frequent values are offered; any other can be typed. */
export function VariableBar({ variables, values, bounds, onChange }: VariableBarProps) {
  if (variables.length === 0) return null;
  return (
    <section className={css.variables} aria-label="Variables">
      {variables.map((variable) => (
        <VariableInput
          key={variable.name}
          variable={variable}
          value={values[variable.name] ?? ""}
          bounds={bounds}
          onChange={(value) => onChange({ ...values, [variable.name]: value })}
        />
      ))}
    </section>
  );
}

type VariableInputProps = {
  readonly variable: DashboardVariable;
  readonly value: string;
  readonly bounds: Bounds;
  readonly onChange: (value: string) => void;
};

/** Applies with Enter, when it is left, and when an offered value is chosen: not at every letter. */
function VariableInput({ variable, value, bounds, onChange }: VariableInputProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const [wasReached, setReached] = useState(false);
  const offered = useOfferedValues(variable, bounds, wasReached);
  useEffect(() => setText(value), [value]);
  const apply = (next: string) => next !== value && onChange(next);
  const type = (next: string) => {
    setText(next);
    if (next === "" || offered.includes(next)) apply(next);
  };
  return (
    <label className={css.variable}>
      <span>{variable.name}</span>
      <input
        type="search"
        className={inputClass}
        list={id}
        value={text}
        placeholder="all"
        spellCheck={false}
        onFocus={() => setReached(true)}
        onChange={(event) => type(event.target.value)}
        onKeyDown={({ key }) => key === "Enter" && apply(text)}
        onBlur={() => apply(text)}
      />
      <datalist id={id}>
        {offered.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

/** Asked for when the input is reached. A service that sleeps is not woken: then nothing is offered. */
function useOfferedValues(
  { sourceId, field }: DashboardVariable,
  { from, to }: Bounds,
  enabled: boolean,
): readonly string[] {
  const { data } = useQuery({
    queryKey: ["listFieldValues", sourceId, field, from, to],
    queryFn: ({ signal }) => {
      const query = {
        startTime: from,
        endTime: to,
        field,
        timezone: zoneStore.get(),
        limit: offeredValues,
        wake: "never" as const,
      };
      return call("listFieldValues", { params: { id: sourceId }, query }, signal);
    },
    enabled,
    placeholderData: (before) => before,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
  return data?.data.map(({ value }) => value) ?? [];
}
