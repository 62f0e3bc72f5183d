import { CircleAlert, CircleX, LoaderCircle, ShieldCheck } from "lucide-react";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { type Backup, proofOf } from "./backup.ts";

const icons = { ok: ShieldCheck, warn: CircleAlert, bad: CircleX, info: LoaderCircle, neutral: CircleAlert };

/** The icon of a tone of proofs. */
export function ProofIcon({ tone }: { readonly tone: Tone }) {
  const Icon = icons[tone];
  return <Icon aria-hidden />;
}

/** Whether a backup is proven, in a word. */
export function ProofBadge({ backup }: { readonly backup: Pick<Backup, "status" | "verification"> }) {
  const { tone, word } = proofOf(backup);
  return (
    <Badge tone={tone} icon={icons[tone]} turning={tone === "info"}>
      {word}
    </Badge>
  );
}
