import { useMemo, useState } from "react";
import { serverNow } from "../../api/server-time.ts";
import { seriesOf } from "../../charts/answer.ts";
import { type ChartDefinition, missingIn, seriesNames } from "../../charts/definition.ts";
import { TimeChart } from "../../charts/time-chart.tsx";
import type { ChartData } from "../../charts/types.ts";
import { type ChartAnswer, useChart } from "../../charts/use-chart.ts";
import { countText } from "../../lib/format.ts";
import { typedNumber } from "../../lib/typed-number.ts";
import { Note } from "../../parts/note.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { isRange } from "./alert.ts";
import type { AlertForm } from "./alert-form.ts";
import { thresholdLines } from "./evaluations.ts";
import { emptyOf, type Preview, previewBounds, previewChart, previewOf } from "./preview.ts";

type AlertPreviewProps = { readonly form: AlertForm; readonly chart: ChartDefinition };

/** The windows of the past with the threshold. It wakes no service. */
export function AlertPreview({ form, chart }: AlertPreviewProps) {
  const [now] = useState(serverNow);
  const bounds = previewBounds(form.interval, now);
  const definition = previewChart(chart, form.interval);
  const query = useChart(definition, bounds, { timezone: "UTC" });
  const { data, error } = query;
  if (missingIn(definition) !== undefined) return null;
  if (error?.code === "SERVICE_ASLEEP") {
    return <Note>The service does not run, so there is no preview. An alert does not wake it either.</Note>;
  }
  if (error !== null) return <Note tone="warn">There is no preview. {error.message}</Note>;
  if (data === undefined) return <Skeleton lines={4} />;
  return <Shown {...{ form, definition, bounds }} answer={data} isOld={query.isPlaceholderData} />;
}

type ShownProps = {
  readonly form: AlertForm;
  readonly definition: ChartDefinition;
  readonly bounds: ReturnType<typeof previewBounds>;
  readonly answer: ChartAnswer;
  /** It answers the question before this one. */
  readonly isOld: boolean;
};

function Shown({ form, definition, bounds: { from, to, days }, answer, isOld }: ShownProps) {
  const { times, series } = useMemo(() => watchedIn(answer, definition), [answer, definition]);
  const condition = conditionOf(form);
  const lines = condition === undefined ? [] : thresholdLines(condition, times.length);
  const period = days === 1 ? "the last day" : `the last ${days} days`;
  return (
    <>
      <TimeChart
        name={`Values in ${period}`}
        times={times}
        series={[...series, ...lines]}
        {...{ from, to }}
        height={160}
      />
      {condition !== undefined && !isOld && (
        <p>
          {sentence(
            period,
            previewOf(times, series, condition, { inARow: knownNumber(form.windows) ?? 1, empty: emptyOf(definition) }),
          )}
        </p>
      )}
    </>
  );
}

/** Groups that a limit leaves out are not watched. */
function watchedIn(answer: ChartAnswer, definition: ChartDefinition): ChartData {
  const names = seriesNames(definition.series);
  const data = seriesOf(
    answer,
    names,
    names.map((_, at) => `series_${at}.data`),
    null,
  );
  return { ...data, series: data.series.filter(({ isRest }) => isRest !== true) };
}

/** Undefined for text that is not a number. */
function knownNumber(text: string): number | undefined {
  const number = typedNumber(text);
  return Number.isFinite(number) ? number : undefined;
}

function conditionOf({ threshold, thresholdMax, thresholdType }: AlertForm) {
  const [low, high] = [knownNumber(threshold), knownNumber(thresholdMax)];
  if (low === undefined || (isRange(thresholdType) && high === undefined)) return undefined;
  return { threshold: low, thresholdMax: high, thresholdType };
}

function sentence(period: string, { windows, fulfilled, alerts }: Preview): string {
  if (windows === 0) return `In ${period} no window has a value.`;
  const found = `In ${period}, ${countText(fulfilled)} of ${countText(windows)} windows fulfil the condition`;
  return `${found}: the alert would have fired ${alerts === 1 ? "once" : `${countText(alerts)} times`}.`;
}
