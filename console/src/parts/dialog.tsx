import { Dialog as Base } from "@base-ui/react/dialog";
import { useBlocker } from "@tanstack/react-router";
import { Trash2, X } from "lucide-react";
import { cloneElement, type FormEvent, type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";
import type { Role } from "../api/role.ts";
import { classes } from "../lib/classes.ts";
import { Button, IconButton } from "./button.tsx";
import css from "./dialog.module.css";
import { TextField } from "./field.tsx";
import { aroundOf, nearestOf } from "./kept-focus.ts";
import { Note } from "./note.tsx";
import { useAttempt } from "./use-attempt.ts";

type DialogProps = {
  readonly open: boolean;
  /**
   * Called by Esc, the close button and, unless there is a form to lose, a click outside. Absent: the dialog can only
   * be ended by its own controls.
   */
  readonly onClose?: () => void;
  readonly title: ReactNode;
  readonly children: ReactNode;
  /** Buttons at the end, the main one last. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
  /** Makes the content a form: Enter submits it. */
  readonly onSubmit?: () => void;
  /** Above other dialogs. */
  readonly layered?: boolean;
};

/** Where each window was opened from, the nearest first. */
const openers = new WeakMap<Element, readonly Element[]>();

/** Where the focus is, and what has opened the windows around it. A menu goes with its choice: its button stays. */
function whereFocusIs(): readonly Element[] {
  const focused = document.activeElement;
  const menu = focused?.closest("[role=menu]");
  const at = menu ? document.querySelector(`[aria-controls="${menu.id}"]`) : focused;
  const around = at?.closest("[role=dialog]");
  return [...aroundOf(at), ...((around && openers.get(around)) ?? [])];
}

/** A window above the page that keeps the focus until it is closed, and then gives it back to what has opened it. */
export function Dialog({ open, onClose, title, children, actions, wide, onSubmit, layered }: DialogProps) {
  // Looked at before a field of it takes the focus.
  const [from] = useState(whereFocusIs);
  const popup = useRef<HTMLDivElement>(null);
  const drawn = (element: HTMLDivElement | null) => {
    if (element === null) return;
    popup.current = element;
    openers.set(element, from);
  };
  const giveBack = () => {
    const focused = document.activeElement;
    // Whoever has moved it meanwhile keeps it.
    if (focused === document.body || focused?.closest("[role=dialog]") === popup.current)
      nearestOf([...from, ...aroundOf(document.getElementById("main"))])?.focus({ preventScroll: true });
    return false;
  };
  // A window that goes with its page is not closed before.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it goes once.
  useEffect(() => () => void setTimeout(giveBack), []);
  // A telephone would cover the window with its keys.
  const firstField = (by: string) =>
    (by !== "touch" && popup.current?.querySelector<HTMLElement>("form :is(input, select, textarea)")) || true;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const content = (
    <>
      <div className={css.body}>{children}</div>
      {actions !== undefined && <div className={css.foot}>{actions}</div>}
    </>
  );
  const column = { display: "contents" } as const;
  return (
    <Base.Root
      open={open}
      onOpenChange={(next) => !next && onClose?.()}
      disablePointerDismissal={onSubmit !== undefined}
    >
      <Base.Portal>
        <Base.Backdrop className={classes(css.backdrop, layered && css.layered)} />
        <Base.Popup
          ref={drawn}
          initialFocus={firstField}
          finalFocus={giveBack}
          className={classes(css.popup, wide && css.wide, layered && css.layered)}
        >
          <div className={`row ${css.head}`}>
            <Base.Title className={css.title}>{title}</Base.Title>
            {onClose !== undefined && (
              <Button look="quiet" aria-label="Close" title="Close (Esc)" icon={X} onClick={onClose} />
            )}
          </div>
          {onSubmit === undefined ? (
            content
          ) : (
            <form style={column} onSubmit={submit} noValidate>
              {content}
            </form>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

type FormDialogProps = Omit<DialogProps, "open" | "actions"> & {
  /** The words of the button that submits. */
  readonly action: string;
  readonly danger?: boolean;
  readonly needs?: Role;
  /** Why it cannot be submitted yet. */
  readonly refusal?: string | undefined;
  readonly busy: boolean;
  /** Why the last attempt failed, unless a field says so. */
  readonly failure?: string | undefined;
  /** Other buttons. */
  readonly more?: ReactNode;
  readonly onClose: () => void;
  readonly onSubmit: () => void;
};

/** A dialog with something to submit or to leave. It does nothing while it is busy or refused. */
export function FormDialog(props: FormDialogProps) {
  const { action, danger, needs, refusal, busy, failure, more, children, onSubmit, ...rest } = props;
  const look = danger ? "danger" : "primary";
  const actions = (
    <>
      <Button onClick={rest.onClose}>Cancel</Button>
      {more}
      <Button type="submit" look={look} refusal={refusal} busy={busy} needs={needs ?? "read_only"}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog {...rest} open actions={actions} onSubmit={() => !busy && refusal === undefined && onSubmit()}>
      {children}
      {failure !== undefined && <Note tone="bad">{failure}</Note>}
    </Dialog>
  );
}

type ConfirmDialogProps = Pick<FormDialogProps, "title" | "action" | "danger" | "needs" | "children" | "onClose"> & {
  /** The user must type this text first. */
  readonly typed?: string | undefined;
  readonly onConfirm: () => Promise<unknown>;
};

/** Asks once before something that cannot be taken back. Stays open with the error if it fails. */
export function ConfirmDialog({ typed, onConfirm, children, ...rest }: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const { attempt, busy, error } = useAttempt();
  const refusal = typed !== undefined && text !== typed ? `Type ${typed} first.` : undefined;
  const confirm = () => void attempt(() => onConfirm().then(rest.onClose));
  return (
    <FormDialog {...rest} busy={busy} refusal={refusal} failure={error?.message} onSubmit={confirm}>
      {children}
      {typed !== undefined && <TextField label={<>Type “{typed}” to confirm</>} value={text} onChange={setText} />}
    </FormDialog>
  );
}

type UnsavedDialogProps = { readonly isChanged: boolean; readonly lost?: string };

/** Asks before the page is left while something on it is changed and not saved. */
export function UnsavedDialog({ isChanged, lost = "What you have changed here is lost." }: UnsavedDialogProps) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  const { proceed, reset } = blocker;
  return (
    <ConfirmDialog
      danger
      title="Leave without saving?"
      action="Leave"
      onConfirm={async () => proceed()}
      onClose={reset}
    >
      <p>{lost}</p>
    </ConfirmDialog>
  );
}

type DeleteButtonProps = {
  /** What the button and the dialog say before the name. */
  readonly verb?: string;
  readonly kind?: string;
  readonly name: string;
  readonly needs?: Role;
  readonly refusal?: string | undefined;
  readonly typed?: string | undefined;
  readonly children: ReactNode;
  readonly onDelete: () => Promise<unknown>;
};

/** Deletes the object of a row, after it has asked. */
export function DeleteButton(props: DeleteButtonProps) {
  const { verb = "Delete", kind = "", name, needs = "developer", refusal, typed, children, onDelete } = props;
  const action = kind === "" ? verb : `${verb} ${kind}`;
  const button = <IconButton small label={`${verb} ${name}`} icon={Trash2} needs={needs} refusal={refusal} />;
  return (
    <Asking danger {...{ button, action, needs, typed, children }} title={`${verb} ${name}?`} onConfirm={onDelete} />
  );
}

/** A button that asks before it acts. */
export function Asking({ button, ...dialog }: Omit<ConfirmDialogProps, "onClose"> & { readonly button: ReactElement }) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      {cloneElement(button as ReactElement<{ onClick: () => void }>, { onClick: () => setAsks(true) })}
      {asks && <ConfirmDialog {...dialog} onClose={() => setAsks(false)} />}
    </>
  );
}
