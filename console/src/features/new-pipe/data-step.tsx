import { type FormEvent, useEffect, useRef } from "react";
import { Button } from "../../parts/button.tsx";
import { Skeleton } from "../../parts/states.tsx";
import type { ChoiceProps } from "./choice-props.ts";
import { dataFields } from "./fields.ts";
import type { Form } from "./form.ts";
import css from "./new-pipe.module.css";
import { ObjectChoice } from "./object-choice.tsx";
import { Refusal } from "./refusal.tsx";
import { SourceInputs } from "./source-inputs.tsx";
import type { StepProps } from "./step-props.ts";
import { TableChoices } from "./table-choices.tsx";
import { TopicChoice } from "./topic-choice.tsx";
import { useListing } from "./use-listing.ts";

/** What of the source is read, picked from what it has. */
export function DataStep({ form, change, onNext }: StepProps) {
  const { kind = "objectStorage" } = form;
  const { listing, error, isBusy, read } = useListing(form);
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    void read();
  }, [read]);
  const refusal = nothingChosen(form);
  const next = (event: FormEvent) => {
    event.preventDefault();
    if (refusal === undefined) onNext();
  };
  return (
    <form className="column" onSubmit={next} noValidate>
      {error !== undefined && <Refusal error={error} form={form} isAtInputs />}
      {listing === undefined && isBusy && <Skeleton lines={4} />}
      {listing !== undefined && <Choice form={form} change={change} listing={listing} read={read} />}
      <SourceInputs fields={dataFields[kind]} form={form} change={change} error={error} />
      <div className={css.actions}>
        <Button busy={isBusy} onClick={() => void read()}>
          List again
        </Button>
        <Button type="submit" look="primary" refusal={refusal}>
          Next
        </Button>
        {refusal !== undefined && <span className="muted">{refusal}</span>}
      </div>
    </form>
  );
}

function nothingChosen({ kind, topics, tables }: Form): string | undefined {
  if (kind === "messageBroker" && topics.length === 0) return "Choose a topic.";
  if (kind === "managedStream" && topics.length === 0) return "Choose a stream.";
  return kind === "relationalDb" && tables.length === 0 ? "Choose a table." : undefined;
}

function Choice(props: ChoiceProps) {
  switch (props.form.kind) {
    case "messageBroker":
    case "managedStream":
      return <TopicChoice {...props} />;
    case "relationalDb":
      return <TableChoices {...props} />;
    default:
      return <ObjectChoice {...props} />;
  }
}
