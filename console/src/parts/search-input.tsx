import { useEffect, useRef, useState } from "react";
import { inputClass } from "./field.tsx";

type SearchInputProps = {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
};

/**
 * The filter of a list. The key `/` moves the focus to the first one of the page. What is typed is shown at once, also
 * when the value is kept in the address, which follows later.
 */
export function SearchInput({ label, value = "", onChange, placeholder }: SearchInputProps) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (document.activeElement !== input.current) setText(value);
  }, [value]);
  return (
    <input
      ref={input}
      type="search"
      data-search
      aria-label={label}
      className={inputClass}
      style={{ flex: "0 1 280px" }}
      placeholder={placeholder ?? label}
      value={text}
      spellCheck={false}
      onChange={(event) => {
        setText(event.target.value);
        onChange(event.target.value);
      }}
    />
  );
}
