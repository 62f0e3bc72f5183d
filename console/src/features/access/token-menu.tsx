import { Ban, CircleCheck, Ellipsis, Trash2 } from "lucide-react";
import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { IconButton } from "../../parts/button.tsx";
import { ConfirmDialog } from "../../parts/dialog.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../parts/menu.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import type { Token } from "./key.ts";

/** What can be done with an access token. */
export function TokenMenu({ token }: { readonly token: Token }) {
  const [deletes, setDeletes] = useState(false);
  const update = useChange("updateAccessToken", {
    changes: ["listAccessTokens"],
    onDone: ({ name, state }) => toast(`${name} is ${state}`),
  });
  const remove = useChange("deleteAccessToken", { changes: ["listAccessTokens"] });
  const params = { tokenId: token.id };
  const isEnabled = token.state === "enabled";
  const toggle = () =>
    update.mutate(
      { params, body: { state: isEnabled ? "disabled" : "enabled" }, ifMatch: token.version },
      { onError: toastError },
    );
  return (
    <>
      <Menu trigger={<IconButton label={`Actions of ${token.name}`} icon={Ellipsis} />}>
        <MenuItem needs="admin" icon={isEnabled ? Ban : CircleCheck} onSelect={toggle}>
          {isEnabled ? "Disable" : "Enable"}
        </MenuItem>
        <MenuSeparator />
        <MenuItem danger needs="admin" icon={Trash2} onSelect={() => setDeletes(true)}>
          Delete
        </MenuItem>
      </Menu>
      {deletes && (
        <ConfirmDialog
          danger
          title={`Delete ${token.name}?`}
          action="Delete token"
          onConfirm={() => remove.mutateAsync({ params, ifMatch: token.version })}
          onClose={() => setDeletes(false)}
        >
          <p>Requests with this token are refused for good.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
