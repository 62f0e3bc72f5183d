/** Cells that keys and tokens share. */
import { Hourglass } from "lucide-react";
import { Badge } from "../../parts/badge.tsx";
import { RelativeTime, useServerNow } from "../../parts/relative-time.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { credentialState, expiresSoon } from "./access-search.ts";

export type Credential = {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly expireAt?: string | null | undefined;
};

export function CredentialState({ credential }: { readonly credential: Credential }) {
  const state = credentialState(credential, useServerNow());
  if (state !== "expired") return <StateBadge state={state} />;
  return (
    <Badge tone="bad" icon={Hourglass}>
      Expired
    </Badge>
  );
}

/** Amber when it is near. */
export function ExpiryCell({ credential }: { readonly credential: Credential }) {
  const now = useServerNow();
  const { expireAt } = credential;
  if (expireAt == null) return <span className="muted">never</span>;
  const tone = Date.parse(expireAt) <= now ? "bad" : expiresSoon(credential, now) ? "warn" : undefined;
  return (
    <span className="toned" data-tone={tone}>
      <RelativeTime at={expireAt} />
    </span>
  );
}

const roles: Readonly<Record<string, string>> = {
  admin: "everything, also keys and settings",
  developer: "pipes, queries, backups; no keys",
  read_only: "sees everything, changes nothing",
};

export const roleOptions = [
  { value: "read_only", label: "read_only: sees everything, changes nothing" },
  { value: "developer", label: "developer: pipes, queries, backups" },
  { value: "admin", label: "admin: everything" },
] as const;

export function RoleCell({ role }: { readonly role: string | undefined }) {
  return <span title={roles[role ?? ""]}>{role}</span>;
}
