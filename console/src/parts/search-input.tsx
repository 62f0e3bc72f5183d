import { inputClass } from "./field.tsx";

type SearchInputProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
};

/** The filter of a list. The key `/` moves the focus to the first one of the page. */
export function SearchInput({ label, value, onChange, placeholder }: SearchInputProps) {
  return (
    <input
      type="search"
      data-search
      aria-label={label}
      className={inputClass}
      style={{ flex: "0 1 280px" }}
      placeholder={placeholder ?? label}
      value={value}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
