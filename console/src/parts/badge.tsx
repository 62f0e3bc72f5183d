import type { ReactNode } from "react";
import { classes } from "../lib/classes.ts";
import css from "./badge.module.css";

export type Tone = "ok" | "warn" | "bad" | "info" | "neutral";

type BadgeProps = {
  readonly tone?: Tone;
  /** Tells the tone without colour. */
  readonly icon?: ReactNode;
  /** The icon turns: something is under way. */
  readonly turning?: boolean;
  readonly children: ReactNode;
};

export function Badge({ tone = "neutral", icon, turning, children }: BadgeProps) {
  return (
    <span className={classes(css.badge, tone !== "neutral" && css[tone], turning && css.turning)}>
      {icon}
      {children}
    </span>
  );
}
