import type { Form } from "./form.ts";

/** What every step of the wizard gets. */
export type StepProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly onNext: () => void;
};
