import type { ReactNode } from "react";
import type { Tone } from "./badge.tsx";
import css from "./meter.module.css";

type MeterProps = {
  /** What it measures; for screen readers. */
  readonly label: string;
  /** From 0 to 1. */
  readonly value: number;
  readonly tone?: Tone;
};

/** A share as a bar. Write the numbers beside it. */
export function Meter({ label, value, tone = "info" }: MeterProps) {
  const percent = Math.round(Math.min(1, Math.max(0, value)) * 1000) / 10;
  return (
    <div
      className={css.meter}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div className={css.bar} data-tone={tone} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** The numbers of a bar, below it: the first at its begin, the last at its end. */
export function MeterNumbers({ children }: { readonly children: ReactNode }) {
  return <div className={css.numbers}>{children}</div>;
}
