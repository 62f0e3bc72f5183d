import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { durationText, utcText } from "../../lib/format.ts";
import { Panel } from "../../parts/page.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import css from "./services.module.css";

const hours = 24;
const stepSeconds = 900;

/** When the service ran during the last day, in quarters of an hour. */
export function StatePanel({ serviceId }: { readonly serviceId: string }) {
  // Fixed while the panel is open: whole steps, so that equal questions are equal.
  const [to] = useState(() => Math.ceil(serverNow() / 1000 / stepSeconds) * stepSeconds * 1000);
  const from = to - hours * 3_600_000;
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), step: stepSeconds };
  const query = useOperation("getServiceMetrics", { params: { serviceId }, query: range }, { pace: "slow" });
  return (
    <Panel title="Last 24 hours">
      <Answer query={query} loading={<Skeleton lines={1} />}>
        {({ series, from: first }) => <Strip shares={series.running} first={Date.parse(first)} />}
      </Answer>
    </Panel>
  );
}

function Strip({ shares, first }: { readonly shares: readonly (number | null)[]; readonly first: number }) {
  const seconds = shares.reduce<number>((sum, share) => sum + (share ?? 0) * stepSeconds, 0);
  const label = `Ran for ${durationText(seconds)} of the last 24 hours`;
  return (
    <figure aria-label={label}>
      <div className={css.strip}>
        {shares.map((share, index) => {
          const time = first + index * stepSeconds * 1000;
          const word = share === null ? "not known" : `ran ${Math.round(share * 100)} % of the time`;
          return <span key={time} className={classOf(share)} title={`${utcText(time)}: ${word}`} />;
        })}
      </div>
      <figcaption className={css.ends}>
        <span>24 h ago</span>
        <span>{label}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function classOf(share: number | null): string | undefined {
  if (share === null || share === 0) return undefined;
  return share > 0.9 ? css.ran : css.ranPartly;
}
