import { useNavigate } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Checkbox } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import type { BackupDetails, Service } from "./backup.ts";
import { Problems } from "./proof-panel.tsx";
import { newServiceBodyOf, partBodyOf, type RestoreForm } from "./restore-form.ts";

type BeginProps = {
  readonly backup: BackupDetails;
  readonly form: RestoreForm;
  readonly services: readonly Service[];
  /** What the plan that is shown says. */
  readonly problems: readonly string[];
  /** The plan is that of the form. */
  readonly isCurrent: boolean;
  readonly force: boolean;
  readonly onForce: (force: boolean) => void;
};

/** What stands against the restore, and the button that begins it. */
export function RestoreBegin({ backup, form, services, problems, isCurrent, force, onForce }: BeginProps) {
  const begin = useBegin({ backup, form, services, force });
  const needsForce = backup.verification !== "passed";
  const refusal =
    needsForce && !force
      ? "Read what the check found, and confirm it above."
      : (problems[0] ?? (isCurrent ? undefined : "The plan is being made."));
  return (
    <>
      {needsForce && <Doubt backup={backup} force={force} onForce={onForce} />}
      {(!needsForce || force) &&
        problems.map((problem) => (
          <Note key={problem} tone="bad">
            {problem}
          </Note>
        ))}
      {begin.error !== null && <Note tone="bad">{begin.error.message}</Note>}
      <div className="row">
        <Button
          look={needsForce ? "danger" : "primary"}
          needs="admin"
          icon={RotateCcw}
          busy={begin.isPending}
          refusal={refusal}
          onClick={begin.start}
        >
          {needsForce ? "Restore what can be read" : "Begin the restore"}
        </Button>
      </div>
      {begin.created !== undefined && <NewServiceDialog created={begin.created} />}
    </>
  );
}

type DoubtProps = Pick<BeginProps, "backup" | "force" | "onForce">;

/** A backup that is not proven is restored only by somebody who has read why. */
function Doubt({ backup, force, onForce }: DoubtProps) {
  return (
    <>
      <Note tone="bad">
        {backup.verification === "failed"
          ? "This backup is damaged. What cannot be read is missing after the restore."
          : "This backup has not been verified yet: wait for its check, or restore what is there."}
      </Note>
      {backup.problems.length > 0 && <Problems problems={backup.problems} />}
      <Checkbox label="I have read this. Restore what can be read of it." value={force} onChange={onForce} />
    </>
  );
}

function useBegin({ backup, form, services, force }: Pick<BeginProps, "backup" | "form" | "services" | "force">) {
  const navigate = useNavigate();
  const part = useChange("restoreBackup", {
    changes: ["listRestores"],
    onDone: ({ serviceId, id }) =>
      void navigate({ to: "/backups/$serviceId/restores/$restoreId", params: { serviceId, restoreId: id } }),
  });
  const whole = useChange("createService", { changes: ["listServices"] });
  const params = { serviceId: backup.serviceId, backupId: backup.id };
  const source = services.find(({ id }) => id === backup.serviceId);
  const start = () =>
    form.scope === "service"
      ? whole.mutate({ body: newServiceBodyOf(form, backup.id, source, force) })
      : part.mutate({ params, body: partBodyOf(form, force) });
  const change = form.scope === "service" ? whole : part;
  return { start, isPending: change.isPending, error: change.error, created: whole.data };
}

/** The password of the new service, once; then its progress. */
function NewServiceDialog({ created: { service, password } }: { readonly created: OperationResult<"createService"> }) {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const leave = async () => {
    setBusy(true);
    const [restore] = await call("listRestores", { params: { serviceId: service.id } }).catch(() => []);
    if (restore === undefined) void navigate({ to: "/services" });
    else {
      const params = { serviceId: service.id, restoreId: restore.id };
      void navigate({ to: "/backups/$serviceId/restores/$restoreId", params });
    }
  };
  return (
    <SecretDialog
      title={`${service.name} is being restored`}
      what="password"
      busy={busy}
      action="I have kept it: show the progress"
      onKept={() => void leave()}
    >
      <Secret label="Password of the user default" value={password} fileName={`${service.name}-password.txt`} />
    </SecretDialog>
  );
}
