import { Database } from "lucide-react";
import type { ReactNode } from "react";
import { ButtonLink } from "./button.tsx";
import { EmptyState } from "./states.tsx";

/** What a screen that needs a service shows before there is one; the children go on after "Create one,". */
export function NoServiceState({ children }: { readonly children: ReactNode }) {
  const create = (
    <ButtonLink to="/services/new" look="primary" needs="admin">
      Create service
    </ButtonLink>
  );
  return (
    <EmptyState icon={Database} title="No service yet" actions={create}>
      A service is a ClickHouse database of its own, with an address, users and backups. Create one, {children}
    </EmptyState>
  );
}
