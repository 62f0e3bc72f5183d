import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { classes } from "../lib/classes.ts";
import css from "./badge.module.css";

export type Tone = "ok" | "warn" | "bad" | "info" | "neutral";

type BadgeProps = {
  readonly tone?: Tone;
  /** Tells the tone without colour. */
  readonly icon?: LucideIcon | undefined;
  /** The icon turns: something is under way. */
  readonly turning?: boolean;
  readonly children: ReactNode;
};

export function Badge({ tone = "neutral", icon: Icon, turning, children }: BadgeProps) {
  return (
    <span className={classes(css.badge, turning && css.turning)} data-tone={tone}>
      {Icon && <Icon aria-hidden />}
      {children}
    </span>
  );
}
