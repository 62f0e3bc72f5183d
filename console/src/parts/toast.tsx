/** Short messages about what has just been done. Never secrets: they stay on the screen. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { X } from "lucide-react";
import { asApiError } from "../api/error.ts";
import { Store, useStore } from "../lib/store.ts";
import type { Tone } from "./badge.tsx";
import { IconButton } from "./button.tsx";
import { Note } from "./note.tsx";
import css from "./toast.module.css";

type Toast = { readonly id: number; readonly text: string; readonly tone: Tone; readonly link?: LinkProps | undefined };

const toasts = new Store<readonly Toast[]>([]);
const shownMs = 6_000;
let lastId = 0;

/** Says what has come of something: `ok` is done, `info` begun, `warn` not done. Disappears, unless it has a link. */
export function toast(text: string, tone: "ok" | "info" | "warn" = "ok", link?: LinkProps): void {
  const id = add(text, tone, link);
  if (link === undefined) setTimeout(() => remove(id), shownMs);
}

/** Says why something failed; stays until it is closed. */
export function toastError(error: unknown): void {
  add(asApiError(error).message, "bad");
}

function add(text: string, tone: Tone, link?: LinkProps): number {
  lastId += 1;
  toasts.set([...toasts.get(), { id: lastId, text, tone, link }].slice(-4));
  return lastId;
}

function remove(id: number): void {
  toasts.set(toasts.get().filter((one) => one.id !== id));
}

/** Where the messages appear; once, in the shell. */
export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div className={css.region} role="status" aria-label="Messages">
      {shown.map(({ id, text, tone, link }) => (
        <div key={id} className={css.toast}>
          <Note tone={tone}>
            {text}{" "}
            {link !== undefined && (
              <Link {...link} onClick={() => remove(id)}>
                Open
              </Link>
            )}
          </Note>
          <IconButton small label="Close" icon={X} onClick={() => remove(id)} />
        </div>
      ))}
    </div>
  );
}
