import { useNavigate, useSearch } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { Note } from "../../parts/note.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { cloneOf } from "./clone.ts";
import { ConnectionStep } from "./connection-step.tsx";
import { DataStep } from "./data-step.tsx";
import { inputsOf, isSecret } from "./fields.ts";
import { FileTry } from "./file-try.tsx";
import { followed } from "./following.ts";
import { emptyForm, type Form, firstValuesOf, lacksSecrets } from "./form.ts";
import css from "./new-pipe.module.css";
import { type Preset, presetGroups } from "./presets.ts";
import { ReviewStep } from "./review-step.tsx";
import { type KeptForm, useSaving, useStoredDraft } from "./saved-draft.ts";
import type { StepProps } from "./step-form.tsx";
import { TableStep } from "./table-step.tsx";

/** From nothing to flowing rows. */
export function NewPipePage() {
  const { service = "", clone, draft } = useSearch({ from: "/new-pipe" });
  const { isReady, error, form } = useStoredDraft();
  // A draft has begun as the clone already.
  const [serviceId = "", pipeId = ""] = draft === undefined ? (clone ?? "").split("/") : [];
  const pipe = useOperation("getPipe", { params: { serviceId, pipeId } }, { pace: "never", enabled: pipeId !== "" });
  const cloned = pipe.data && cloneOf(pipe.data);
  const isCloned = pipeId === "" || !pipe.isPending;
  return (
    <Page title="New pipe" needs="developer">
      {!isReady && <Skeleton lines={6} />}
      {error && <Note tone="warn">The draft in this address cannot be read. {error.message}</Note>}
      {pipe.error && <Note tone="warn">The pipe in this address cannot be read. {pipe.error.message}</Note>}
      {isReady && isCloned && <Wizard begin={{ ...emptyForm, serviceId: service, ...cloned, ...form }} />}
    </Page>
  );
}

const titles = ["Source", "Connection", "Data", "Table", "Review"] as const;

/** Five steps; each can be returned to, and nothing is created before the last one ends. */
function Wizard({ begin }: { readonly begin: KeptForm }) {
  const [form, setForm] = useState(begin);
  const search = useSearch({ from: "/new-pipe" });
  const navigate = useNavigate({ from: "/new-pipe" });
  const { forget } = useSaving(form, true);
  const asked = form.kind === undefined ? 1 : (search.step ?? 1);
  // A draft has no secrets: after a reload they are asked for before they are used.
  const isLost = asked > 2 && lacksSecrets(form, begin.secrets);
  const step = isLost ? 2 : asked;
  const show = (next: number) =>
    void navigate({ search: (before) => ({ ...before, step: next === 1 ? undefined : next }) });
  const change = (next: Partial<Form>) => setForm((before) => followed(before, next));
  const props: StepProps = { form, change, onNext: () => show(step + 1) };
  const steps: readonly ReactNode[] = [
    <SourceStep key={1} {...props} />,
    <ConnectionStep key={2} {...props} />,
    <DataStep key={3} {...props} />,
    <TableStep key={4} {...props} />,
    <ReviewStep key={5} form={form} change={change} forget={forget} show={show} />,
  ];
  return (
    <>
      <UnsavedDialog
        isChanged={inputsOf(form.kind, form.values).some(({ path }) => isSecret(path) && form.values[path])}
        lost="The draft stays at this address, but the secrets that you have typed are lost."
      />
      <Steps step={step} onStep={show} />
      <Panel title={form.label === "" ? titles[step - 1] : `${titles[step - 1]}: ${form.label}`}>
        {isLost && <Note>Secrets are not kept in a draft. Type them again to go on.</Note>}
        {steps[step - 1]}
      </Panel>
      {step > 1 && (
        <div>
          <Button onClick={() => show(step - 1)}>Back</Button>
        </div>
      )}
    </>
  );
}

function Steps({ step, onStep }: { readonly step: number; readonly onStep: (step: number) => void }) {
  return (
    <ol className={`row ${css.steps}`}>
      {titles.map((title, index) => {
        const number = index + 1;
        const isDone = number < step;
        return (
          <li key={title} className={css.step} aria-current={number === step ? "step" : undefined}>
            <span className={css.number}>{isDone ? <Check aria-label="done" /> : number}</span>
            {isDone ? (
              <button type="button" className={`plain ${css.link}`} onClick={() => onStep(number)}>
                {title}
              </button>
            ) : (
              title
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** Which source. Another kind begins with empty inputs. */
function SourceStep({ form, change, onNext }: StepProps) {
  const choose = ({ kind, type, label, values: own }: Preset) => {
    const values = { ...(form.kind === kind ? form.values : firstValuesOf(kind)), ...own };
    const columns = form.tried === "" ? { columns: [], sortingKey: [] } : {};
    const fresh = form.kind === kind ? {} : { topics: [], tables: [], ...columns };
    const { type: _, ...rest } = values;
    change({ kind, label, values: type === undefined ? rest : { ...rest, type }, ...fresh });
    onNext();
  };
  const groups = presetGroups.map(({ title, text, presets }) => (
    <section key={title} className="group" aria-label={title}>
      <div>
        <h3>{title}</h3>
        <p className="muted">{text}</p>
      </div>
      <div className={`group ${css.tiles}`}>
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
  return (
    <>
      {groups}
      <FileTry form={form} change={change} />
    </>
  );
}
