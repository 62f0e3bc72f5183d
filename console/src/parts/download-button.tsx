import { Download } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { toastError } from "./toast.tsx";

type DownloadButtonProps = { readonly save: () => Promise<void>; readonly children: ReactNode };

/** Saves a file that takes a moment to make. */
export function DownloadButton({ save, children }: DownloadButtonProps) {
  const [busy, setBusy] = useState(false);
  const begin = () => {
    setBusy(true);
    void save()
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  return (
    <Button icon={Download} busy={busy} onClick={begin}>
      {children}
    </Button>
  );
}
