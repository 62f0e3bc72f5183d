import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import type { OperationResult } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { serverNow } from "../../api/server-time.ts";
import { Store, useStore } from "../../lib/store.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { type Attention, attentionOf } from "./attention.ts";
import css from "./overview.module.css";

type AttentionPanelProps = {
  readonly services: OperationResult<"listServices">;
  readonly pipes: OperationResult<"listAllPipes">["pipes"];
};

/** What the user has put aside until the page is closed. A new reason shows it again. */
const acknowledged = new Store<ReadonlySet<string>>(new Set());

/** The list of what is not well, worst first. */
export function AttentionPanel({ services, pipes }: AttentionPanelProps) {
  const isAdmin = useMay("admin");
  const keys = useOperation("listKeys", {}, { pace: "slow", enabled: isAdmin });
  const system = useOperation("getSystem", {}, { pace: "slow", enabled: isAdmin });
  const alerts = useOperation("listAlerts", { params: {} }, { pace: "slow" });
  const hidden = useStore(acknowledged);
  const all = attentionOf({
    services,
    pipes,
    alerts: alerts.data?.data,
    keys: keys.data,
    system: system.data,
    now: serverNow(),
  });
  const shown = all.filter((one) => !hidden.has(keyOf(one)));
  const aside = all.length - shown.length;
  return (
    <Panel
      flush
      title={`Needs attention${shown.length === 0 ? "" : ` (${shown.length})`}`}
      actions={
        aside > 0 && (
          <Button small look="quiet" onClick={() => acknowledged.set(new Set())}>
            Show {aside} put aside
          </Button>
        )
      }
    >
      {shown.length === 0 ? (
        <div className={css.well}>
          <CircleCheck aria-hidden />
          {aside > 0
            ? "Nothing else needs you."
            : "Nothing needs you. Failures, refused rows, alerts that fire, growing lag, lost backups and full disks appear here."}
        </div>
      ) : (
        <ul className={css.list}>
          {shown.map((one) => (
            <Item key={one.id} item={one} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function keyOf({ id, sentence, tone }: Attention): string {
  // Numbers in a sentence change; the reason does not.
  return `${id} ${tone} ${sentence.replaceAll(/\d+/g, "#")}`;
}

function Item({ item }: { readonly item: Attention }) {
  const Icon = item.tone === "bad" ? CircleAlert : TriangleAlert;
  const putAside = () => acknowledged.set(new Set([...acknowledged.get(), keyOf(item)]));
  return (
    <li className={css.item} data-tone={item.tone}>
      <Icon aria-label={item.tone === "bad" ? "Failure" : "Warning"} />
      <div>
        <Link {...item.link} className={css.subject}>
          {item.subject}
        </Link>
        <div className="clamp" title={item.sentence}>
          {item.sentence}
        </div>
        {item.at !== undefined && (
          <span className="muted">
            <RelativeTime at={item.at} />
          </span>
        )}
      </div>
      <Button small look="quiet" onClick={putAside} aria-label={`Put aside: ${item.subject}`}>
        Put aside
      </Button>
    </li>
  );
}
