import { type KeyboardEvent, type PointerEvent, useState } from "react";
import css from "./splitter.module.css";

type SplitterProps = {
  /** What is before it, which it makes larger or smaller. */
  readonly label: string;
  /** `columns`: between left and right. */
  readonly between: "columns" | "rows";
  readonly size: number;
  readonly least: number;
  readonly most: number;
  readonly onSize: (size: number) => void;
};

const keyStep = 24;

/** A bar between two areas that the mouse drags and the arrow keys move. */
export function Splitter({ label, between, size, least, most, onSize }: SplitterProps) {
  const place = (event: PointerEvent) => (between === "columns" ? event.clientX : event.clientY);
  const [grip, setGrip] = useState<number>();
  const move = (next: number) => onSize(Math.round(Math.max(least, Math.min(most, next))));
  const onKeyDown = (event: KeyboardEvent) => {
    const [less, more] = between === "columns" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    move(size + (event.key === more ? keyStep : -keyStep));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved.
    <div
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={between === "columns" ? "vertical" : "horizontal"}
      aria-valuenow={size}
      aria-valuemin={least}
      aria-valuemax={most}
      className={css.splitter}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setGrip(place(event) - size);
      }}
      onPointerMove={(event) => grip !== undefined && move(place(event) - grip)}
      onPointerUp={() => setGrip(undefined)}
    />
  );
}

/** A size in pixels that this browser remembers. */
export function useKeptSize(key: string, otherwise: number): [number, (size: number) => void] {
  const [size, setSize] = useState(() => Number(localStorage.getItem(key)) || otherwise);
  return [
    size,
    (next) => {
      localStorage.setItem(key, String(next));
      setSize(next);
    },
  ];
}
