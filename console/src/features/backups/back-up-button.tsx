import { Archive } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import type { Service } from "./backup.ts";

type BackUpButtonProps = {
  readonly service: Service;
  /** A backup is being made. */
  readonly isRunning: boolean;
  readonly small?: boolean;
  readonly primary?: boolean;
};

/** Backs a service up now. Asks first where that wakes the service. */
export function BackUpButton({ service, isRunning, small, primary }: BackUpButtonProps) {
  const [asks, setAsks] = useState(false);
  const change = useChange("createBackup", {
    changes: ["listBackups", "listAllBackups", "listServices"],
    onDone: () => toast(`Backup of ${service.name} begun`, "info"),
  });
  const input = { params: { serviceId: service.id } };
  const start = () => (wakesOf(service) === undefined ? change.mutate(input, { onError: toastError }) : setAsks(true));
  return (
    <>
      <Button
        needs="developer"
        small={small === true}
        look={primary ? "primary" : "secondary"}
        icon={Archive}
        busy={change.isPending}
        refusal={refusalOf(service, isRunning)}
        aria-label={`Back up now: ${service.name}`}
        onClick={start}
      >
        Back up now
      </Button>
      {asks && (
        <ConfirmDialog
          title={`Back up ${service.name}?`}
          action="Back up now"
          onConfirm={() => change.mutateAsync(input)}
          onClose={() => setAsks(false)}
        >
          <p>{wakesOf(service)}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function refusalOf({ state }: Service, isRunning: boolean): string | undefined {
  if (state === "failed") return "The service has failed. Start it first.";
  return isRunning ? "A backup of this service is in progress." : undefined;
}

function wakesOf({ name, state }: Service): string | undefined {
  if (state === "idle") return `${name} is asleep. A backup wakes it; afterwards it falls asleep by its own rules.`;
  if (state === "stopped") {
    return `${name} is stopped. An engine is started for the backup alone; it accepts no clients and ends afterwards.`;
  }
  return undefined;
}
