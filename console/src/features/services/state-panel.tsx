import { useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import { durationText } from "../../lib/format.ts";
import { timeText } from "../../lib/zone.ts";
import { Panel } from "../../parts/page.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import css from "./services.module.css";

const hours = 24;
const stepSeconds = 60;
/** Minutes of one block of the strip. */
const blockSteps = 15;

/** When the service ran during the last day, in quarters of an hour. */
export function StatePanel({ serviceId }: { readonly serviceId: string }) {
  const blockMs = blockSteps * stepSeconds * 1000;
  // Fixed while the panel is open: whole blocks, so that equal questions are equal.
  const [to] = useState(() => Math.ceil(serverNow() / blockMs) * blockMs);
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
  const minutes = shares.reduce<number>((sum, share) => sum + (share ?? 0), 0);
  // A shorter time is not measured.
  const time = minutes < 1 ? "less than a minute" : durationText(minutes * stepSeconds);
  const label = `Ran for ${time} of the last 24 hours`;
  const blocks = Array.from({ length: Math.ceil(shares.length / blockSteps) }, (_, index) =>
    shares.slice(index * blockSteps, (index + 1) * blockSteps),
  );
  return (
    <figure aria-label={label}>
      <div className={css.strip}>
        {blocks.map((block, index) => {
          const time = first + index * blockSteps * stepSeconds * 1000;
          const ran = block.reduce<number>((sum, share) => sum + (share ?? 0), 0);
          return (
            <span key={time} className={classOf(ran)} title={`${timeText(time)}: ran for ${Math.round(ran)} min`} />
          );
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

function classOf(minutes: number): string | undefined {
  if (minutes < 0.5) return undefined;
  return minutes > blockSteps * 0.9 ? css.ran : css.ranPartly;
}
