import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "./badge.tsx";
import css from "./note.module.css";

const icons = { ok: CircleCheck, warn: TriangleAlert, bad: CircleAlert, info: Info, neutral: Info };

/** The address names what is not there; the children say what is shown in its place. */
export function GoneNote({ what, children }: { readonly what: string; readonly children: ReactNode }) {
  return (
    <Note tone="warn">
      The {what} in this address does not exist: it was deleted, or never existed. {children}
    </Note>
  );
}

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
