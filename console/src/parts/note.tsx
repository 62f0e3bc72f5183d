import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "./badge.tsx";
import css from "./note.module.css";

const icons = { ok: CircleCheck, warn: TriangleAlert, bad: CircleAlert, info: Info, neutral: Info };

/** A sentence or two that the user should read. */
export function Note({ tone = "info", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  const Icon = icons[tone];
  return (
    <div className={css.note} data-tone={tone} role={tone === "bad" ? "alert" : "note"}>
      <Icon aria-hidden />
      <div>{children}</div>
    </div>
  );
}
