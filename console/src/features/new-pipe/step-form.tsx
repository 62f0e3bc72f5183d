import type { FormEvent, ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import type { Form } from "./form.ts";
import css from "./new-pipe.module.css";

type StepFormProps = {
  /** Why the step is not done. */
  readonly refusal?: string | undefined;
  readonly busy?: boolean;
  readonly onNext: () => void;
  /** Buttons before Next. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

/** A step of the wizard; Enter leads on too. */
export function StepForm({ refusal, busy = false, onNext, actions, children }: StepFormProps) {
  const next = (event: FormEvent) => {
    event.preventDefault();
    if (refusal === undefined) onNext();
  };
  return (
    <form className="column" onSubmit={next} noValidate>
      {children}
      <div className={`row ${css.actions}`}>
        {actions}
        <Button type="submit" look="primary" refusal={refusal} busy={busy}>
          Next
        </Button>
        {refusal !== undefined && <span className="muted">{refusal}</span>}
      </div>
    </form>
  );
}

/** What every step of the wizard gets. */
export type StepProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly onNext: () => void;
};
