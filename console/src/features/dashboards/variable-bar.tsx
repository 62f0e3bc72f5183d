import { useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { call } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import type { Bounds } from "../../charts/time-range.ts";
import type { DashboardVariable, VariableValues } from "../../charts/variables.ts";
import { zoneStore } from "../../lib/zone.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { inputClass } from "../../parts/field.tsx";
import { InlineSelect } from "../../parts/select.tsx";
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

type VariableEditorProps = {
  /** That of the first chart: a new variable is for it. */
  readonly chartedId: string | undefined;
  /** Where fields are looked for. */
  readonly bounds: Bounds | undefined;
  readonly variables: readonly DashboardVariable[];
  readonly onChange: (variables: readonly DashboardVariable[]) => void;
};

/** Names, sources and fields of the variables. */
export function VariableEditor({ chartedId, bounds, variables, onChange }: VariableEditorProps) {
  const sources = useOperation("listSources", { params: {} }, { pace: "never" }).data?.data ?? [];
  const first = sources.find(({ id }) => id === chartedId) ?? sources[0];
  const add = () => {
    const name = `Variable ${variables.length + 1}`;
    if (first !== undefined) onChange([...variables, { name, sourceId: first.id, field: "" }]);
  };
  const change = (at: number, next: Partial<DashboardVariable>) =>
    onChange(variables.map((variable, index) => (index === at ? { ...variable, ...next } : variable)));
  return (
    <section className={css.variableEditor} aria-label="Variables">
      {variables.map(({ name, sourceId, field }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a variable is its place; its name is edited here.
        <div key={at} className={css.variables}>
          <Text label={`Name of variable ${at + 1}`} value={name} onChange={(next) => change(at, { name: next })} />
          <InlineSelect
            label={`Source of variable ${at + 1}`}
            value={sourceId}
            options={sources.map(({ id, name: label }) => ({ value: id, label }))}
            onChange={(next) => change(at, { sourceId: next })}
          />
          <Field
            {...{ sourceId, bounds }}
            label={`Field of variable ${at + 1}`}
            value={field}
            onChange={(next) => change(at, { field: next })}
          />
          <IconButton
            small
            label={`Remove variable ${at + 1}`}
            icon={Trash2}
            onClick={() => onChange(variables.toSpliced(at, 1))}
          />
        </div>
      ))}
      <div className={css.variables}>
        <Button
          small
          icon={Plus}
          refusal={first === undefined ? "A variable needs a source; make one in Explore." : undefined}
          onClick={add}
        >
          Add variable
        </Button>
        <span className="muted">A variable filters all charts of its source by one value of a field.</span>
      </div>
    </section>
  );
}

type TextProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly list?: string;
};

function Text({ label, value, onChange, list }: TextProps) {
  return (
    <input
      className={inputClass}
      aria-label={label}
      placeholder={label}
      value={value}
      list={list}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

type FieldProps = TextProps & Pick<VariableEditorProps, "bounds"> & { readonly sourceId: string };

/** Offers the fields of the source. A service that sleeps is not woken: then nothing is offered. */
function Field({ sourceId, bounds, ...text }: FieldProps) {
  const list = useId();
  const query = { startTime: bounds?.from, endTime: bounds?.to, wake: "never" as const };
  const asked = { params: { id: sourceId }, query };
  const fields = useOperation("listFields", asked, { pace: "never" }).data?.data ?? [];
  return (
    <>
      <Text {...text} list={list} />
      <datalist id={list}>
        {fields.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
