import { Database, FolderOpen, type LucideIcon, Rows3, Send, Waves } from "lucide-react";
import type { SourceDescription } from "../../../../src/sources/contract/description.ts";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { kindWords, type PipeKind } from "./list-search.ts";
import css from "./pipes.module.css";

/** By what the source lists. */
const icons: Readonly<Record<SourceDescription["listing"]["of"], LucideIcon>> = {
  topics: Rows3,
  objects: FolderOpen,
  streams: Waves,
  tables: Database,
  nothing: Send,
};

/** The kind of a source as an icon with its word. */
export function KindLabel({ kind }: { readonly kind: PipeKind }) {
  const Icon = icons[sourceDescriptions[kind].listing.of];
  return (
    <span className={css.kind}>
      <Icon aria-hidden />
      {kindWords[kind]}
    </span>
  );
}
