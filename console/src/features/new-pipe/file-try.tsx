import { Upload } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { Button } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { ServiceChoice } from "./connection-step.tsx";
import { type FileSample, proposalOf, sampleOf } from "./file-sample.ts";
import css from "./new-pipe.module.css";
import { SampleRows } from "./samples.tsx";
import type { StepProps } from "./step-form.tsx";

/** Rows and types of a file, without a source: the pipe begins with its columns. */
export function FileTry({ form, change }: Pick<StepProps, "form" | "change">) {
  const { attempt, busy, error } = useAttempt();
  const [sample, setSample] = useState<FileSample>();
  const input = useRef<HTMLInputElement>(null);
  const read = (file: File | undefined) => {
    if (file === undefined) return;
    setSample(undefined);
    void attempt(async () => {
      const found = await sampleOf(form.serviceId, file);
      setSample(found);
      const { name } = found;
      change({ ...proposalOf(found), name, table: name, tried: file.name });
    });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    if (form.serviceId !== "") read(event.dataTransfer.files[0]);
  };
  return (
    <section className="group" aria-label="Try a file">
      <div>
        <h3>Try a file</h3>
        <p className="muted">
          Drop a file to see its rows and to begin with its columns. The service reads it once; nothing is loaded or
          kept.
        </p>
      </div>
      <ServiceChoice form={form} change={change} />
      {form.serviceId !== "" && (
        // biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same.
        <div className={css.drop} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
          <Button icon={Upload} busy={busy} onClick={() => input.current?.click()}>
            Choose a file
          </Button>
          <span className="muted">or drop it here</span>
          <input
            ref={input}
            type="file"
            hidden
            aria-label="File to try"
            onChange={(event) => {
              read(event.target.files?.[0]);
              event.target.value = "";
            }}
          />
        </div>
      )}
      {error !== undefined && <Note tone="bad">{error.message}</Note>}
      {sample !== undefined && (
        <>
          <Note tone="ok">
            {sample.file} is {sample.format} with {sample.columns.length} columns. The table will begin with them:
            choose above where its rows will come from.
          </Note>
          <SampleRows samples={sample.rows.map((parsed, index) => ({ parsed, index }))} types={sample.columns} />
        </>
      )}
    </section>
  );
}
