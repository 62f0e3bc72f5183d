import { bytesText, countText, durationText, shortCountText } from "../lib/format.ts";

type NumberProps = { readonly value: number | undefined; readonly none?: string };

/** `1.5 GiB`, with the exact number on hover; `–` if it is not known. */
export function Bytes({ value, none = "–" }: NumberProps) {
  if (value === undefined) return <span>{none}</span>;
  return (
    <span className="numeric" title={`${countText(value)} bytes`}>
      {bytesText(value)}
    </span>
  );
}

/** `1.2M` or, with `exact`, all digits; `–` if it is not known. */
export function Count({ value, none = "–", exact }: NumberProps & { readonly exact?: boolean }) {
  if (value === undefined) return <span>{none}</span>;
  return (
    <span className="numeric" title={countText(value)}>
      {exact ? countText(value) : shortCountText(value)}
    </span>
  );
}

/** `2 h 5 min`; `–` if it is not known. */
export function Duration({ value, none = "–" }: NumberProps) {
  return <span className="numeric">{value === undefined ? none : durationText(value)}</span>;
}
