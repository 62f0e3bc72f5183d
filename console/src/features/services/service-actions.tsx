/** What can be done with a service: buttons of its page, and the menu of its row. */
import { useNavigate } from "@tanstack/react-router";
import {
  ArrowRightLeft,
  Bell,
  Braces,
  CircleStop,
  Ellipsis,
  Moon,
  Play,
  Plug,
  Settings,
  SquareTerminal,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { newStateAlertAddress } from "../../lib/addresses.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { RequestDialog } from "../../parts/request-dialog.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import { ConnectDialog } from "./connect-dialog.tsx";
import { commandRefusal, deleteRefusal, moveRefusal, type Service, type ServiceCommand } from "./service.ts";

const words: Readonly<Record<ServiceCommand, string>> = { start: "Starting", stop: "Stopping", awake: "Waking" };

/** Sends commands to a service, and says what they do. */
export function useServiceCommand(service: Service) {
  const change = useChange("updateServiceState", { changes: ["getService", "listServices", "listAllPipes"] });
  const send = (command: ServiceCommand) =>
    change.mutate(
      { params: { serviceId: service.id }, body: { command } },
      { onSuccess: () => toast(`${words[command]} ${service.name}`, "info"), onError: toastError },
    );
  return { send, busy: change.isPending };
}

/** The main command of the present state, connecting, and the rest in a menu. */
export function ServiceActions({ service }: { readonly service: Service }) {
  const { send, busy } = useServiceCommand(service);
  const [connecting, setConnecting] = useState(false);
  const main = service.state === "idle" ? "awake" : commandRefusal("start", service) === undefined ? "start" : "stop";
  const labels = { awake: "Wake", start: "Start", stop: "Stop" };
  const Icon = main === "stop" ? CircleStop : Play;
  return (
    <>
      <Button
        needs="developer"
        busy={busy}
        refusal={commandRefusal(main, service)}
        icon={Icon}
        onClick={() => send(main)}
      >
        {labels[main]}
      </Button>
      <Button look="primary" icon={Plug} onClick={() => setConnecting(true)}>
        Connect
      </Button>
      <ServiceMenu service={service} />
      {connecting && <ConnectDialog service={service} onClose={() => setConnecting(false)} />}
    </>
  );
}

/** Every action of a service. */
export function ServiceMenu({ service }: { readonly service: Service }) {
  const { send } = useServiceCommand(service);
  const navigate = useNavigate();
  const [open, setOpen] = useState<"delete" | "connect" | "request">();
  const close = () => setOpen(undefined);
  const command = (name: ServiceCommand, label: string, Icon: typeof Play) => (
    <MenuItem icon={Icon} needs="developer" refusal={commandRefusal(name, service)} onSelect={() => send(name)}>
      {label}
    </MenuItem>
  );
  const params = { serviceId: service.id };
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${service.name}`} icon={Ellipsis} />}>
        <MenuItem icon={Plug} onSelect={() => setOpen("connect")}>
          Connect
        </MenuItem>
        <MenuItem icon={SquareTerminal} onSelect={() => void navigate({ to: "/sql", search: { service: service.id } })}>
          Open in SQL
        </MenuItem>
        <MenuSeparator />
        {service.state === "idle" ? command("awake", "Wake", Play) : command("start", "Start", Play)}
        {command("stop", "Stop", service.state === "idle" ? Moon : CircleStop)}
        <MenuSeparator />
        <MenuItem
          needs="developer"
          icon={Bell}
          onSelect={() =>
            void navigate(
              newStateAlertAddress("service_attention", `service:${service.id}`, `${service.name} needs attention`),
            )
          }
        >
          Alert me
        </MenuItem>
        <MenuItem icon={Settings} onSelect={() => void navigate({ to: "/services/$serviceId/settings", params })}>
          Settings
        </MenuItem>
        <MenuItem
          icon={ArrowRightLeft}
          refusal={moveRefusal(service)}
          onSelect={() => void navigate({ to: "/services/$serviceId/move", params })}
        >
          Move to a server
        </MenuItem>
        <MenuItem icon={Braces} onSelect={() => setOpen("request")}>
          As JSON, curl and command
        </MenuItem>
        <MenuItem
          danger
          icon={Trash2}
          needs="admin"
          refusal={deleteRefusal(service)}
          onSelect={() => setOpen("delete")}
        >
          Delete
        </MenuItem>
      </Menu>
      {open === "connect" && <ConnectDialog service={service} onClose={close} />}
      {open === "delete" && <DeleteServiceDialog service={service} onClose={close} />}
      {open === "request" && (
        <RequestDialog
          title={service.name}
          operation="getService"
          input={{ params }}
          value={service}
          command={`millrace service get ${service.id}`}
          onClose={close}
        />
      )}
    </>
  );
}

type DeleteServiceDialogProps = { readonly service: Service; readonly onClose: () => void };

/** Deletes a service after its name was typed. */
function DeleteServiceDialog({ service, onClose }: DeleteServiceDialogProps) {
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
