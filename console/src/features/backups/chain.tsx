/** A chain as a row of blocks: a full backup and the increments that need everything before them. */
import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleX, LoaderCircle, ShieldCheck } from "lucide-react";
import { classes } from "../../lib/classes.ts";
import { bytesText } from "../../lib/format.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { type Backup, proofOf, titleOf } from "./backup.ts";
import css from "./backups.module.css";

type Block = Pick<Backup, "id" | "serviceId" | "startedAt" | "type" | "status" | "verification" | "sizeInBytes">;

type ChainProps = {
  readonly chain: readonly Block[];
  /** The backup of this page. */
  readonly current?: string;
  /** Writes type and size into the blocks. */
  readonly large?: boolean;
};

export function Chain({ chain, current, large }: ChainProps) {
  return (
    <ol className={classes(css.chain, large && css.large)} aria-label="Chain">
      {chain.map((block) => (
        <li key={block.id}>
          <ChainBlock block={block} isCurrent={block.id === current} large={large === true} />
        </li>
      ))}
    </ol>
  );
}

type ChainBlockProps = { readonly block: Block; readonly isCurrent: boolean; readonly large: boolean };

function ChainBlock({ block, isCurrent, large }: ChainBlockProps) {
  const { tone, word } = proofOf(block);
  const kind = block.type === "full" ? "Full" : "Incremental";
  const size = block.status === "done" ? bytesText(block.sizeInBytes) : word.toLowerCase();
  const rest = `backup of ${titleOf(block)}, ${word.toLowerCase()}`;
  return (
    <Link
      to="/backups/$serviceId/$backupId"
      params={{ serviceId: block.serviceId, backupId: block.id }}
      className={classes(css.block, block.type === "full" && css.full)}
      data-tone={tone}
      title={`${kind} ${rest}`}
      aria-current={isCurrent ? "page" : undefined}
    >
      <ProofIcon tone={tone} />
      <span className={large ? css.blockText : "visually-hidden"}>
        <span>{kind} </span>
        <span className="numeric">{size}</span>
      </span>
      <span className="visually-hidden">, {rest}</span>
    </Link>
  );
}

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
