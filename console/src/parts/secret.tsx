import { Download, Eye, EyeOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { saveFile } from "../lib/save-file.ts";
import { Button, IconButton } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, inputClass } from "./field.tsx";
import { Note } from "./note.tsx";

type SecretProps = {
  readonly label: string;
  readonly value: string;
  /** Offers a file with this name. */
  readonly fileName?: string;
  /** What the file contains; the secret alone if absent. */
  readonly fileText?: string;
};

/** A secret that the server shows once: hidden until asked for, with copy and download. */
export function Secret({ label, value, fileName, fileText = value }: SecretProps) {
  const [shown, setShown] = useState(false);
  const save = () => saveFile(fileName ?? "secret.txt", `${fileText}\n`);
  return (
    <Field label={label}>
      {(names) => (
        <div style={{ display: "flex", gap: "var(--space-1)", flexWrap: "wrap" }}>
          <input
            {...names}
            className={inputClass}
            style={{ flex: "1 1 200px", fontFamily: "var(--font-mono)" }}
            type={shown ? "text" : "password"}
            autoComplete="off"
            readOnly
            value={value}
          />
          <IconButton label={shown ? "Hide" : "Show"} icon={shown ? EyeOff : Eye} onClick={() => setShown(!shown)} />
          <CopyButton small={false} text={value} label={`Copy ${label.toLowerCase()}`} />
          {fileName !== undefined && (
            <Button look="quiet" icon={Download} onClick={save}>
              Download
            </Button>
          )}
        </div>
      )}
    </Field>
  );
}

type SecretDialogProps = {
  readonly title: string;
  /** `password`. */
  readonly what: string;
  readonly busy?: boolean;
  readonly action?: string;
  readonly onKept: () => void;
  readonly children: ReactNode;
};

/** Shows a secret once. Only its own button closes it: a click beside it would lose the secret. */
export function SecretDialog({ title, what, busy, action = "I have kept it", onKept, children }: SecretDialogProps) {
  const kept = (
    <Button look="primary" busy={busy === true} onClick={onKept}>
      {action}
    </Button>
  );
  return (
    <Dialog open title={title} actions={kept}>
      <Note tone="warn">Keep the {what} now: it is not shown again.</Note>
      {children}
    </Dialog>
  );
}
