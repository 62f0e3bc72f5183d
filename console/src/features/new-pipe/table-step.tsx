import { useEffect, useRef, useState } from "react";
import { call, type OperationResult } from "../../api/client.ts";
import { Button } from "../../parts/button.tsx";
import { fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { type FileSample, proposalOf, sampleOf, textFormats } from "./file-sample.ts";
import { type Form, isSent, ownsTables, sourceOf } from "./form.ts";
import { SampleRows, Samples } from "./samples.tsx";
import { Refusal } from "./source-inputs.tsx";
import { StepForm, type StepProps } from "./step-form.tsx";
import { TableForm } from "./table-form.tsx";

type Discovered = OperationResult<"discoverSchema">;

/** The table that gets the rows. Its columns are proposed from samples; a database brings its own. */
export function TableStep(props: StepProps) {
  if (ownsTables(props.form)) return <DatabaseTarget {...props} />;
  return isSent(props.form) ? <ExampleTable {...props} /> : <SampledTable {...props} />;
}

function DatabaseTarget({ form, change, onNext }: StepProps) {
  return (
    <StepForm onNext={onNext}>
      <div className="cells pair">
        <TextField label="Database" {...fieldsOf({ form, onChange: change })("database")} />
      </div>
      {isSent(form) ? (
        <Note>
          The pipe creates its tables and their chart sources. Its page has the two environment variables that
          applications need.
        </Note>
      ) : (
        <Note>
          Columns and types follow the tables of the source, also when they change. Each table keeps the newest version
          of every row: read it through the view that ends in <code>_current</code>.
        </Note>
      )}
    </StepForm>
  );
}

function SampledTable({ form, change, onNext }: StepProps) {
  const { samples, error, busy, read } = useSamples(form, change);
  return (
    <TableForm
      {...{ form, change, onNext }}
      reason={samples?.proposedTable.sortingKeyReason}
      actions={
        <Button busy={busy} onClick={() => void read()}>
          Read samples again
        </Button>
      }
    >
      {busy && samples === undefined && <Skeleton lines={5} />}
      {error !== undefined && <Refusal error={error} form={form} />}
      {samples !== undefined && <Samples samples={samples.samples} />}
    </TableForm>
  );
}

/** Nothing has been sent yet: the columns are those of an example, or typed. */
function ExampleTable({ form, change, onNext }: StepProps) {
  const { attempt, busy, error } = useAttempt();
  const [text, setText] = useState("");
  const [sample, setSample] = useState<FileSample>();
  const { format = "" } = form.values;
  const read = () =>
    attempt(async () => {
      const found = await sampleOf(form.serviceId, new File([text], "example"), format);
      setSample(found);
      change(proposalOf(found));
    });
  return (
    <TableForm {...{ form, change, onNext }}>
      {textFormats.includes(format) && form.tried === "" && (
        <>
          <TextArea
            mono
            label="An example of what is sent"
            hint="A body with a row or more. The service reads it once, and keeps nothing of it."
            value={text}
            onChange={setText}
          />
          <div>
            <Button
              busy={busy}
              refusal={text.trim() === "" ? "Paste an example." : undefined}
              onClick={() => void read()}
            >
              Take its columns
            </Button>
          </div>
        </>
      )}
      {error !== undefined && <Note tone="bad">{error.message}</Note>}
      {sample !== undefined && <SampleRows samples={sample.rows.map((parsed, index) => ({ parsed, index }))} />}
    </TableForm>
  );
}

/** Reads samples once; columns that were edited stay when it is done again. */
function useSamples(form: Form, change: StepProps["change"]) {
  const { attempt, busy, error } = useAttempt();
  const [samples, setSamples] = useState<Discovered>();
  const { serviceId } = form;
  const latest = useRef(form);
  latest.current = form;
  const read = () =>
    attempt(async () => {
      const found = await call("discoverSchema", { params: { serviceId }, body: { source: sourceOf(form) } } as never);
      setSamples(found);
      // Columns can be typed meanwhile.
      if (latest.current.columns.length === 0) change(proposed(found));
    });
  // biome-ignore lint/correctness/useExhaustiveDependencies: samples are read when the step opens, and on request
  useEffect(() => void read(), []);
  return { samples, error, busy, read };
}

function proposed({ fields, proposedTable }: Discovered): Partial<Form> {
  const columns = proposedTable.columns.map(({ name, type }, index) => ({
    field: fields[index]?.name ?? name,
    name,
    type,
  }));
  return { columns, sortingKey: proposedTable.tableDefinition.sortingKey };
}
