/** Short messages about what has just been done. Never secrets: they stay on the screen. */
import { X } from "lucide-react";
import { asApiError } from "../api/error.ts";
import { classes } from "../lib/classes.ts";
import { Store, useStore } from "../lib/store.ts";
import { IconButton } from "./button.tsx";
import css from "./toast.module.css";

type Toast = { readonly id: number; readonly text: string; readonly bad: boolean };

const toasts = new Store<readonly Toast[]>([]);
const shownMs = 6_000;
let lastId = 0;

/** Says that something is done; disappears by itself. */
export function toast(text: string): void {
  const id = add(text, false);
  setTimeout(() => remove(id), shownMs);
}

/** Says why something failed; stays until it is closed. */
export function toastError(error: unknown): void {
  add(asApiError(error).message, true);
}

function add(text: string, bad: boolean): number {
  lastId += 1;
  toasts.set([...toasts.get(), { id: lastId, text, bad }].slice(-4));
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
      {shown.map(({ id, text, bad }) => (
        <div key={id} className={classes(css.toast, bad && css.bad)}>
          <span className={css.text}>{text}</span>
          <IconButton small label="Close" icon={<X aria-hidden />} onClick={() => remove(id)} />
        </div>
      ))}
    </div>
  );
}
