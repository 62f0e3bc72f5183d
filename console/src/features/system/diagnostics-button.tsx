import { Download } from "lucide-react";
import { useState } from "react";
import { call } from "../../api/client.ts";
import { saveFile } from "../../lib/save-file.ts";
import { Button } from "../../parts/button.tsx";
import { toastError } from "../../parts/toast.tsx";
import type { System } from "./system.ts";

/** Saves what somebody who helps needs to know. The API tells no secret, so that the file has none. */
export function DiagnosticsButton({ system }: { readonly system: System }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const text = JSON.stringify(await diagnosticsOf(system), null, 2);
      saveFile("millrace-diagnostics.json", `${text}\n`, "application/json");
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Button icon={Download} busy={busy} onClick={() => void save()}>
      Download diagnostics
    </Button>
  );
}

async function diagnosticsOf(system: System): Promise<unknown> {
  const [services, { pipes }, backups, { activities }] = await Promise.all([
    call("listServices", {}),
    call("listAllPipes", { query: { limit: 1_000 } }),
    call("listAllBackups", {}),
    call("listActivities", { query: { limit: 200 } }),
  ]);
  return { madeAt: new Date().toISOString(), system, services, pipes, backups: backups.slice(0, 100), activities };
}
