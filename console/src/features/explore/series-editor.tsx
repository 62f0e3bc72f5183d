import { Plus, X } from "lucide-react";
import type { ApiError } from "../../api/error.ts";
import {
  aggregates,
  type ChartDefinition,
  maxSeries,
  newSeries,
  type SeriesDefinition,
} from "../../charts/definition.ts";
import type { FilterField } from "../../editor/filter-editor.tsx";
import type { ErrorMark } from "../../editor/marks.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { fieldsOf, inputClass } from "../../parts/field.tsx";
import { late } from "../../parts/late.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import css from "./explore.module.css";

// Rows and charts are asked for while it is loaded.
const FilterEditor = late(async () => (await import("../../editor/filter-editor.tsx")).FilterEditor);

type SeriesEditorProps = {
  readonly chart: ChartDefinition;
  readonly fields: readonly FilterField[];
  readonly error: ApiError | null;
  readonly onChange: (change: Partial<ChartDefinition>) => void;
};

const languages = [
  { value: "lucene", label: "Words" },
  { value: "sql", label: "SQL" },
] as const;

/** What the chart shows: aggregates with filters, groups, and a formula over them. */
export function SeriesEditor({ chart, fields, error, onChange }: SeriesEditorProps) {
  const { series, groupBy, formula } = chart;
  const replace = (at: number, change: Partial<SeriesDefinition>) =>
    onChange({ series: series.map((one, index) => (index === at ? { ...one, ...change } : one)) });
  return (
    <div className={`group surface ${css.seriesList}`}>
      {series.map((one, at) => (
        <SeriesRow
          // biome-ignore lint/suspicious/noArrayIndexKey: series have no other identity.
          key={at}
          {...{ one, at, fields, error }}
          onChange={(change) => replace(at, change)}
          onRemove={
            series.length === 1 ? undefined : () => onChange({ series: series.filter((_, index) => index !== at) })
          }
        />
      ))}
      <div className={css.seriesMore}>
        <span className={css.word}>group by</span>
        <div className={css.grow}>
          <FilterEditor
            label="Group by"
            placeholder="columns, paths or SQL expressions"
            language="sql"
            value={groupBy}
            fields={fields}
            error={markAt(error, "series.0.groupBy")}
            onChange={(text) => onChange({ groupBy: text })}
          />
        </div>
        {(series.length > 1 || formula !== "") && (
          <div className={css.grow}>
            <FilterEditor
              label="Formula"
              placeholder="formula, such as series_0 / series_1"
              language="sql"
              value={formula}
              fields={series.map((_, at) => ({ name: `series_${at}`, type: "series" }))}
              error={markAt(error, "formula")}
              onChange={(text) => onChange({ formula: text })}
            />
          </div>
        )}
        <Button
          small
          icon={Plus}
          refusal={series.length >= maxSeries ? "A chart has at most 5 series." : undefined}
          onClick={() => onChange({ series: [...series, { ...newSeries, where: series[0]?.where ?? "" }] })}
        >
          Add series
        </Button>
      </div>
    </div>
  );
}

type SeriesRowProps = {
  readonly one: SeriesDefinition;
  readonly at: number;
  readonly fields: readonly FilterField[];
  readonly error: ApiError | null;
  readonly onChange: (change: Partial<SeriesDefinition>) => void;
  readonly onRemove: (() => void) | undefined;
};

function SeriesRow({ one, at, fields, error, onChange, onRemove }: SeriesRowProps) {
  const field = fieldsOf({ form: one, onChange });
  const label = (what: string) => `${what} of series ${at + 1}`;
  return (
    <fieldset className={css.series}>
      <legend className="visually-hidden">Series {at + 1}</legend>
      <span className={css.swatch} style={{ background: `var(--series-${at + 1})` }} />
      <InlineSelect label={label("Aggregate")} {...field("aggFn")} options={aggregates} />
      {one.aggFn === "quantile" && (
        <input
          type="number"
          aria-label={label("Level")}
          className={inputClass}
          style={{ width: 84 }}
          min={0}
          max={1}
          step={0.01}
          value={one.level}
          onChange={(event) => onChange({ level: Math.min(1, Math.max(0, event.target.valueAsNumber || 0)) })}
        />
      )}
      {one.aggFn !== "count" && (
        <div className={css.field}>
          <FilterEditor
            label={label("Field")}
            placeholder="field or expression"
            language="sql"
            {...field("field")}
            fields={fields}
            error={markAt(error, `series.${at}.field`)}
          />
        </div>
      )}
      <span className={css.word}>where</span>
      <div className={css.grow}>
        <FilterEditor
          label={label("Filter")}
          placeholder={
            one.whereLanguage === "lucene" ? 'words, field:value, field:>5, "a phrase"' : "StatusCode >= 500"
          }
          language={one.whereLanguage}
          {...field("where")}
          fields={fields}
          error={markAt(error, `series.${at}.where`)}
        />
      </div>
      <InlineSelect label={label("Language of the filter")} {...field("whereLanguage")} options={languages} />
      {onRemove !== undefined && <IconButton small label={`Remove series ${at + 1}`} icon={X} onClick={onRemove} />}
    </fieldset>
  );
}

/** The mark of an issue at a member of the request. */
function markAt(error: ApiError | null, path: string): ErrorMark | undefined {
  const issue = error?.issues.find((one) => one.path === path || one.path.startsWith(`${path}.`));
  return issue === undefined ? undefined : { position: issue.position ?? 0, message: issue.message };
}
