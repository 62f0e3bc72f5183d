import { Combobox as Base } from "@base-ui/react/combobox";
import { classes } from "../lib/classes.ts";
import { Field, type FieldText, inputClass } from "./field.tsx";
import css from "./popup.module.css";

export type ComboboxOption = { readonly value: string; readonly label: string; readonly detail?: string };

type ComboboxProps = FieldText & {
  readonly value: string | undefined;
  readonly options: readonly ComboboxOption[];
  readonly onChange: (value: string | undefined) => void;
  readonly placeholder?: string;
  /** What the list says when nothing matches. */
  readonly none?: string;
};

/** One of many values, found by typing a part of it. */
export function Combobox({ value, options, onChange, placeholder, none = "Nothing matches.", ...text }: ComboboxProps) {
  const selected = options.find((option) => option.value === value) ?? null;
  return (
    <Base.Root
      items={options}
      value={selected}
      onValueChange={(option: ComboboxOption | null) => onChange(option?.value)}
      itemToStringLabel={(option: ComboboxOption) => option.label}
      isItemEqualToValue={(a: ComboboxOption, b: ComboboxOption) => a.value === b.value}
    >
      <Field {...text}>{(names) => <Base.Input {...names} className={inputClass} placeholder={placeholder} />}</Field>
      <Base.Portal>
        <Base.Positioner className={css.positioner} sideOffset={4}>
          <Base.Popup className={classes(css.popup, css.anchored)}>
            <Base.Empty>
              <div className={css.none}>{none}</div>
            </Base.Empty>
            <Base.List>
              {(option: ComboboxOption) => (
                <Base.Item key={option.value} value={option} className={css.item}>
                  {option.label}
                  {option.detail !== undefined && <span className={`muted ${css.detail}`}>{option.detail}</span>}
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
