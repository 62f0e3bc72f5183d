import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Role } from "../api/role.ts";
import { classes } from "../lib/classes.ts";
import { Button } from "./button.tsx";
import css from "./dialog.module.css";
import { TextField } from "./field.tsx";
import { Note } from "./note.tsx";
import { useAttempt } from "./use-attempt.ts";

type DialogProps = {
  readonly open: boolean;
  /** Called by Esc, a click outside and the close button. Absent: the dialog can only be ended by its own controls. */
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

/** A window above the page that keeps the focus until it is closed. */
export function Dialog({ open, onClose, title, children, actions, wide, onSubmit, layered }: DialogProps) {
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
    <Base.Root open={open} onOpenChange={(next) => !next && onClose?.()}>
      <Base.Portal>
        <Base.Backdrop className={classes(css.backdrop, layered && css.layered)} />
        <Base.Popup className={classes(css.popup, wide && css.wide, layered && css.layered)}>
          <div className={css.head}>
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

type DeleteDialogProps<T> = Pick<ConfirmDialogProps, "children" | "onClose"> & {
  /** Undefined: nothing is asked. */
  readonly doomed: T | undefined;
  readonly onDelete: (doomed: T) => Promise<unknown>;
};

/** Asks before an object of a list goes. */
export function DeleteDialog<T extends { readonly name: string }>(props: DeleteDialogProps<T>) {
  const { doomed, onDelete, onClose, children } = props;
  if (doomed === undefined) return null;
  return (
    <ConfirmDialog
      title={`Delete ${doomed.name}?`}
      action="Delete"
      danger
      needs="developer"
      onConfirm={() => onDelete(doomed)}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}

type ConfirmDialogProps = {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  readonly danger?: boolean;
  readonly needs?: Role;
  /** The user must type this text first. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
};

/** Asks once before something that cannot be taken back. Stays open with the error if it fails. */
export function ConfirmDialog({
  title,
  children,
  action,
  danger,
  needs,
  typed,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const { attempt, busy, error } = useAttempt();
  const missing = typed !== undefined && text !== typed ? `Type ${typed} first.` : undefined;
  const confirm = () => {
    if (missing !== undefined) return;
    void attempt(() => onConfirm().then(onClose));
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        type="submit"
        look={danger ? "danger" : "primary"}
        refusal={missing}
        busy={busy}
        needs={needs ?? "read_only"}
      >
        {action}
      </Button>
    </>
  );
  return (
    <Dialog open onClose={onClose} title={title} actions={actions} onSubmit={confirm}>
      {children}
      {typed !== undefined && (
        <TextField label={<>Type “{typed}” to confirm</>} value={text} onChange={setText} autoFocus />
      )}
      {error !== undefined && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}
