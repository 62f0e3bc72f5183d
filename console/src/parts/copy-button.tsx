import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, type ButtonLook, IconButton } from "./button.tsx";

type CopyProps = ButtonLook & {
  readonly text: string;
  /** What is copied: `Copy id`. */
  readonly label: string;
  /** Shows the label beside the icon. */
  readonly labelled?: boolean;
};

/** Copies text to the clipboard and says so. */
export function CopyButton({ text, label, labelled, look = "quiet", small = true }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const icon = copied ? Check : Copy;
  const shown = copied ? "Copied" : label;
  const copy = () => void copyText(text).then(setCopied);
  if (!labelled) return <IconButton look={look} small={small} label={shown} icon={icon} onClick={copy} />;
  return (
    <Button look={look} small={small} icon={icon} onClick={copy}>
      {shown}
    </Button>
  );
}

/** False if the browser refuses. Pages over plain http to another host have no clipboard: a selection copies there. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
