import { Database, FolderOpen, type LucideIcon, Rows3, Waves } from "lucide-react";
import { kindWords, type PipeKind } from "./list-search.ts";
import css from "./pipes.module.css";

const icons: Readonly<Record<PipeKind, LucideIcon>> = {
  messageBroker: Rows3,
  objectStorage: FolderOpen,
  managedStream: Waves,
  relationalDb: Database,
};

/** The kind of a source as an icon with its word. */
export function KindLabel({ kind }: { readonly kind: PipeKind }) {
  const Icon = icons[kind];
  return (
    <span className={css.kind}>
      <Icon aria-hidden />
      {kindWords[kind]}
    </span>
  );
}
