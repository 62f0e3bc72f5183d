import { useNavigate } from "@tanstack/react-router";
import { useChange } from "../../api/queries.ts";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { toast } from "../../parts/toast.tsx";
import type { Service } from "./service.ts";

type DeleteServiceDialogProps = { readonly service: Service; readonly onClose: () => void };

/** Deletes a service after its name was typed. */
export function DeleteServiceDialog({ service, onClose }: DeleteServiceDialogProps) {
  const navigate = useNavigate();
  const change = useChange("deleteService", { changes: ["listServices", "listAllPipes"] });
  const confirm = async () => {
    await change.mutateAsync({ params: { serviceId: service.id } });
    toast(`Deleting ${service.name}`, "info");
    void navigate({ to: "/services" });
  };
  const pipes = service.pipes.total;
  return (
    <ConfirmDialog
      danger
      needs="admin"
      title={`Delete ${service.name}?`}
      action="Delete service"
      typed={service.name}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        This removes its tables, its users{pipes > 0 ? ` and ${pipes === 1 ? "its pipe" : `its ${pipes} pipes`}` : ""}.
        It cannot be taken back. Backups stay until their retention ends, and a new service can be created from one.
      </p>
    </ConfirmDialog>
  );
}
