import { firstValues } from "./form.ts";
import css from "./new-pipe.module.css";
import { type Preset, presetGroups } from "./presets.ts";
import type { StepProps } from "./step-props.ts";

/** Which source. Another kind begins with empty inputs. */
export function SourceStep({ form, change, onNext }: StepProps) {
  const choose = ({ kind, type, label, values: own }: Preset) => {
    const values = { ...(form.kind === kind ? form.values : firstValues[kind]), ...own };
    const fresh = form.kind === kind ? {} : { topics: [], tables: [], columns: [], sortingKey: [] };
    const { type: _, ...rest } = values;
    change({ kind, label, values: type === undefined ? rest : { ...rest, type }, ...fresh });
    onNext();
  };
  return presetGroups.map(({ title, text, presets }) => (
    <section key={title} className="group" aria-label={title}>
      <div>
        <h3>{title}</h3>
        <p className="muted">{text}</p>
      </div>
      <div className={css.tiles}>
        {presets.map((preset) => (
          <button
            key={preset.label}
            type="button"
            className={css.tile}
            aria-pressed={preset.label === form.label}
            onClick={() => choose(preset)}
          >
            {preset.label}
          </button>
        ))}
      </div>
    </section>
  ));
}
