/** Columns that keys and tokens share. */
import type { ReactNode } from "react";
import { RelativeTime } from "../../parts/relative-time.tsx";
import type { Column } from "../../parts/table.tsx";
import css from "./access.module.css";
import { type Credential, CredentialState, ExpiryCell } from "./credential-cells.tsx";

type ListedCredential = Credential & { readonly usedAt?: string | undefined; readonly createdAt: string };

/** The name, with the end of the secret below it. */
export function NameCell({ children, suffix }: { readonly children: ReactNode; readonly suffix: string | undefined }) {
  return (
    <div className="stack">
      <span className={css.name}>{children}</span>
      <span className="muted">
        ends with <code>{suffix}</code>
      </span>
    </div>
  );
}

/** State, use and times; `menu` draws the actions of a row. */
export function credentialColumns<Row extends ListedCredential>(menu: (row: Row) => ReactNode): readonly Column<Row>[] {
  return [
    { key: "state", header: "State", nowrap: true, cell: (row) => <CredentialState credential={row} /> },
    {
      key: "used",
      header: "Last used",
      nowrap: true,
      cell: ({ usedAt }) => <RelativeTime at={usedAt} none="never" />,
    },
    { key: "expires", header: "Expires", nowrap: true, cell: (row) => <ExpiryCell credential={row} /> },
    { key: "created", header: "Created", nowrap: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    { key: "menu", header: "", align: "end", cell: menu },
  ];
}
