import { useNavigate } from "@tanstack/react-router";
import { Ban, CircleCheck, Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { IconButton } from "../../parts/button.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { type Alert, alertName } from "./alert.ts";
import { DeleteAlertDialog } from "./delete-alert-dialog.tsx";
import { useAlertToggle } from "./use-alert-toggle.ts";

/** What can be done with an alert of the list. */
export function AlertMenu({ alert }: { readonly alert: Alert }) {
  const [deletes, setDeletes] = useState(false);
  const navigate = useNavigate();
  const { toggle } = useAlertToggle(alert);
  const edit = () => void navigate({ to: "/alerts/$alertId/edit", params: { alertId: alert.id } });
  return (
    <>
      <Menu trigger={<IconButton small label={`Actions of ${alertName(alert)}`} icon={Ellipsis} />}>
        <MenuItem needs="developer" icon={alert.enabled ? Ban : CircleCheck} onSelect={toggle}>
          {alert.enabled ? "Disable" : "Enable"}
        </MenuItem>
        <MenuItem needs="developer" icon={Pencil} onSelect={edit}>
          Edit
        </MenuItem>
        <MenuSeparator />
        <MenuItem danger needs="developer" icon={Trash2} onSelect={() => setDeletes(true)}>
          Delete
        </MenuItem>
      </Menu>
      {deletes && <DeleteAlertDialog alert={alert} onClose={() => setDeletes(false)} />}
    </>
  );
}
