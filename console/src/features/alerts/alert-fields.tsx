import type { LinkProps } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { ApiError } from "../../api/error.ts";
import type { ChartDefinition } from "../../charts/definition.ts";
import { countsRows } from "../../charts/watchable.ts";
import { Button, ButtonLink } from "../../parts/button.tsx";
import { type FormProps, fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { named, Select } from "../../parts/select.tsx";
import { type Interval, intervals, intervalText, isRange, type ThresholdType, thresholdTypes } from "./alert.ts";
import {
  type AlertForm,
  chosenChart,
  metricOf,
  missingIn,
  ofStates,
  subjectOf,
  subjectOptions,
  theChart,
} from "./alert-form.ts";
import { AlertPreview } from "./alert-preview.tsx";
import css from "./alerts.module.css";
import { isYesOrNo, limitOptions, stateMetrics } from "./states.ts";
import { type Known, useKnown } from "./watched.ts";
import { WebhookDialog } from "./webhook-dialog.tsx";

type AlertFieldsProps = FormProps<AlertForm> & {
  readonly busy: boolean;
  readonly action: string;
  readonly onSubmit: () => void;
  readonly cancel: LinkProps;
  /** The chart that the alert is made of, and its name. */
  readonly chart?: ChartDefinition | undefined;
  readonly title?: string | undefined;
};

/** The form of an alert, new or not. */
export function AlertFields({ form, onChange, error, busy, action, onSubmit, cancel, chart, title }: AlertFieldsProps) {
  const known = useKnown();
  const field = fieldsOf({ form, onChange, error });
  const [isNewWebhook, setNewWebhook] = useState(false);
  const shown = chosenChart(form, known, chart);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <>
      <form onSubmit={submit} noValidate className="form">
        <Panel title="What it watches">
          <SubjectFields {...{ form, onChange, error, known, chart, title }} />
        </Panel>
        <Panel title="When it fires">
          <ConditionFields form={form} onChange={onChange} error={error} />
          {shown !== undefined && <AlertPreview form={form} chart={shown} />}
        </Panel>
        <Panel title="Whom it tells">
          <WebhookField {...{ form, onChange, error, known }} onNew={() => setNewWebhook(true)} />
          <TextArea
            label="Text"
            hint="Sent with every notification. Empty: a text that says what was found."
            {...field("message")}
          />
        </Panel>
        {error && !isAtField(error) && <Note tone="bad">{error.message}</Note>}
        <div className="row">
          <Button type="submit" look="primary" needs="developer" refusal={missingIn(form)} busy={busy}>
            {action}
          </Button>
          <ButtonLink {...cancel}>Cancel</ButtonLink>
        </div>
      </form>
      {/* Outside of the form: what is submitted in the dialog would submit the form too. */}
      {isNewWebhook && (
        <WebhookDialog onDone={({ id }) => onChange({ webhookId: id })} onClose={() => setNewWebhook(false)} />
      )}
    </>
  );
}

const fields = [
  ...["name", "savedSearchId", "dashboardId", "tileId", "groupBy", "threshold", "thresholdMax", "thresholdType"],
  ...["interval", "numConsecutiveWindows", "channel", "message", "pipeId", "serviceId", "noData"],
];

function isAtField({ issues }: ApiError): boolean {
  return issues.length > 0 && issues.every(({ path }) => fields.includes(path.split(".")[0] as string));
}

type PartProps = FormProps<AlertForm> & { readonly known: Known };

function SubjectFields({
  form,
  onChange,
  error,
  known,
  chart,
  title,
}: PartProps & Pick<AlertFieldsProps, "chart" | "title">) {
  const field = fieldsOf({ form, onChange, error });
  const options = subjectOptions(known, title);
  const metric = metricOf(form);
  const isChart = form.watches === theChart;
  const isCounted = isChart ? chart !== undefined && countsRows(chart) : subjectOf(form)?.source === "saved_search";
  const subjectError = error?.issueAt("savedSearchId") ?? error?.issueAt("dashboardId") ?? error?.issueAt("tileId");
  return (
    <>
      <TextField label="Name" {...field("name")} maxLength={512} />
      <Select
        label="Watches"
        hint={
          isChart ? keptAs(isCounted) : "Charts are chosen in Explore and on dashboards: “Create alert” in their menu."
        }
        value={form.watches}
        options={form.watches === "" ? [{ value: "", label: "Choose" }, ...options] : options}
        error={subjectError}
        onChange={(watches) => {
          const chosen = metricOf({ watches });
          if (chosen === undefined) return onChange({ watches });
          const isKept = limitOptions(chosen, known).some(({ value }) => value === form.limit);
          onChange(ofStates(chosen, isKept ? form.limit : ""));
        }}
      />
      {metric !== undefined && (
        <Select
          label="Which"
          hint="Each is looked at for itself, when a window ends."
          {...field("limit")}
          options={limitOptions(metric, known)}
          error={error?.issueAt("pipeId") ?? error?.issueAt("serviceId")}
        />
      )}
      {isCounted && (
        <TextField
          mono
          label="Group by"
          hint="Comma list. Rows of every group are counted for themselves. Empty: all rows together."
          {...field("groupBy")}
        />
      )}
    </>
  );
}

function keptAs(isCounted: boolean): string {
  const copy = isCounted
    ? "The filter is kept as a saved search"
    : "The chart is kept as a tile of a dashboard of the API";
  return `${copy} with the name of the alert. Later changes of the chart do not change the alert.`;
}

function WebhookField({ known: { webhooks = [] }, onNew, ...props }: PartProps & { readonly onNew: () => void }) {
  const field = fieldsOf(props);
  return (
    <div className={css.beside}>
      <Select
        label="Webhook"
        {...field("webhookId", "channel")}
        options={[...(props.form.webhookId === "" ? [{ value: "", label: "Choose" }] : []), ...named(webhooks)]}
      />
      <Button needs="developer" icon={Plus} onClick={onNew}>
        New webhook
      </Button>
    </div>
  );
}

const types = Object.entries(thresholdTypes) as [ThresholdType, string][];

/** The threshold, the length of windows, and how many must pass it. */
function ConditionFields(props: FormProps<AlertForm>) {
  return (
    <>
      {!isYesOrNo(metricOf(props.form)) && <ThresholdFields {...props} />}
      <WindowFields {...props} />
    </>
  );
}

function ThresholdFields(props: FormProps<AlertForm>) {
  const field = fieldsOf(props);
  const range = isRange(props.form.thresholdType);
  return (
    <div className="cells pair">
      <Select
        label="Value is"
        {...field("thresholdType")}
        options={types.map(([value, label]) => ({ value, label }))}
      />
      <TextField label={range ? "From" : "Threshold"} inputMode="decimal" {...field("threshold")} />
      {range && <TextField label="To" inputMode="decimal" {...field("thresholdMax")} />}
    </div>
  );
}

function WindowFields(props: FormProps<AlertForm>) {
  const field = fieldsOf(props);
  const metric = metricOf(props.form);
  const withoutValue = metric === undefined ? "A window without a value" : stateMetrics[metric].withoutValue;
  return (
    <>
      <div className="cells pair">
        <Select
          label={metric === undefined ? "Window" : "Evaluated every"}
          {...(metric === undefined ? { hint: "Length of a window, and time between two evaluations." } : {})}
          {...field("interval")}
          options={intervals.map((value: Interval) => ({ value, label: intervalText(value) }))}
        />
        <TextField
          label={metric === undefined ? "Windows in a row" : "Evaluations in a row"}
          hint="1 to 100 that must fulfil the condition."
          inputMode="numeric"
          {...field("windows", "numConsecutiveWindows")}
        />
      </div>
      {withoutValue !== undefined && (
        <Select
          label={withoutValue}
          {...field("noData")}
          options={[
            { value: "keep", label: "says nothing: the state before it counts" },
            { value: "alert", label: "fires" },
            { value: "ok", label: "is well" },
          ]}
        />
      )}
    </>
  );
}
