import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { type ApiError, asApiError } from "../../api/error.ts";
import { refetch } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { fieldsOf, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { toast } from "../../parts/toast.tsx";
import { Checks } from "./checks.tsx";
import { bodyOf, type Form } from "./form.ts";
import { guaranteeOf } from "./guarantee.ts";
import css from "./new-pipe.module.css";
import { Refusal } from "./refusal.tsx";
import { SameAs } from "./same-as.tsx";

type Validation = OperationResult<"validatePipe">;

type ReviewStepProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly forget: () => Promise<void>;
  readonly show: (step: number) => void;
};

/** What will be created, what is checked, and what it promises. */
export function ReviewStep({ form, change, forget }: ReviewStepProps) {
  const navigate = useNavigate();
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ApiError>();
  const { validation, error, isChecking, check } = useValidation(form);
  const refusal = form.name.trim() === "" ? "Name the pipe." : undefined;
  const params = { serviceId: form.serviceId };
  const create = (event: FormEvent) => {
    event.preventDefault();
    if (refusal !== undefined) return;
    setBusy(true);
    call("createPipe", { params, body: bodyOf(form) } as never).then(
      async ({ id, name }) => {
        toast(`${name} is created.`, "info");
        await Promise.all([forget(), refetch("listAllPipes", "listServices")]);
        void navigate({ to: "/pipes/$serviceId/$pipeId", params: { ...params, pipeId: id } });
      },
      (reason) => {
        setBusy(false);
        setRefused(asApiError(reason));
      },
    );
  };
  return (
    <form className="column" onSubmit={create} noValidate>
      <div className="cells pair">
        <TextField
          label="Name of the pipe"
          aria-required
          {...fieldsOf({ form, onChange: change, error: refused ?? error })("name")}
        />
      </div>
      {isChecking && <Skeleton lines={4} />}
      {validation !== undefined && <Checks {...validation} />}
      {error !== undefined && refused === undefined && <Refusal error={error} form={form} />}
      <Note>{guaranteeOf(form)}</Note>
      <SameAs form={form} />
      {refused !== undefined && <Refusal error={refused} form={form} />}
      <div className={css.actions}>
        <Button busy={isChecking} refusal={refusal} onClick={() => void check()}>
          Check again
        </Button>
        <Button type="submit" look="primary" needs="developer" busy={isBusy} refusal={refusal}>
          Create pipe
        </Button>
        {refusal !== undefined && <span className="muted">{refusal}</span>}
      </div>
    </form>
  );
}

/** Makes every check of a creation without creating, when the step opens and on request. */
function useValidation(form: Form) {
  const [validation, setValidation] = useState<Validation>();
  const [error, setError] = useState<ApiError>();
  const [isChecking, setChecking] = useState(false);
  const check = async () => {
    setChecking(true);
    setError(undefined);
    const body = bodyOf({ ...form, name: form.name.trim() || "unnamed" });
    try {
      setValidation(await call("validatePipe", { params: { serviceId: form.serviceId }, body } as never));
    } catch (reason) {
      setError(asApiError(reason));
    }
    setChecking(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: checked when the step opens, and on request
  useEffect(() => void check(), []);
  return { validation, error, isChecking, check };
}
