import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { type FormProps, fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Select } from "../../parts/select.tsx";
import { toast } from "../../parts/toast.tsx";
import type { Webhook } from "./watched.ts";
import { type Sealed, type WebhookForm, webhookBody, webhookForm, webhookKinds } from "./webhook-form.ts";

type WebhookDialogProps = {
  /** Absent: a new one. */
  readonly webhook?: Webhook;
  readonly onDone?: (webhook: Webhook) => void;
  readonly onClose: () => void;
};

/** Creates a webhook, or changes the version of one that is shown. */
export function WebhookDialog({ webhook: shown, onDone, onClose }: WebhookDialogProps) {
  // Others may change the webhook while the dialog is open: the server refuses then.
  const [webhook] = useState(shown);
  const [form, setForm] = useState(() => webhookForm(webhook));
  const done = {
    changes: ["listWebhooks"] as const,
    onDone: ({ data }: { readonly data: Webhook }) => {
      toast(`${data.name} is saved`);
      onDone?.(data);
      onClose();
    },
  };
  const create = useChange("createWebhook", done);
  const replace = useChange("replaceWebhook", done);
  const { error, isPending } = webhook === undefined ? create : replace;
  const submit = () => {
    const body = webhookBody(form);
    if (isPending) return;
    if (webhook === undefined) create.mutate({ body });
    else replace.mutate({ params: { webhookId: webhook.id }, body, ifMatch: webhook.version });
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" needs="developer" busy={isPending}>
        {webhook === undefined ? "Create webhook" : "Save"}
      </Button>
    </>
  );
  const title = webhook === undefined ? "New webhook" : `Edit ${webhook.name}`;
  return (
    <Dialog open title={title} onClose={onClose} actions={actions} onSubmit={submit}>
      <Fields
        form={form}
        onChange={(next) => setForm({ ...form, ...next })}
        error={error}
        isNew={webhook === undefined}
      />
      {error !== null && error.issues.length === 0 && <Note tone="bad">{error.message}</Note>}
    </Dialog>
  );
}

type FieldsProps = FormProps<WebhookForm> & { readonly isNew: boolean };

const kinds = Object.entries(webhookKinds) as [Webhook["service"], string][];

function Fields(props: FieldsProps) {
  const { form, isNew } = props;
  const field = fieldsOf(props);
  const again = isNew ? "" : " It is never shown: a change needs it again.";
  return (
    <>
      <TextField label="Name" {...field("name")} autoFocus />
      <Select label="Form" {...field("service")} options={kinds.map(([value, label]) => ({ value, label }))} />
      <TextField
        label="URL"
        hint={`http or https, at an address that pipes may connect to.${again}`}
        {...field("url")}
      />
      <TextField label="Description" {...field("description")} />
      {form.service === "generic" && (
        <TextArea
          mono
          label="Body"
          hint="A template such as {&quot;text&quot;: &quot;{{title}}&quot;}. Empty: a JSON object with everything."
          {...field("body")}
        />
      )}
      {form.service !== "slack" && <SealedFields {...props} />}
    </>
  );
}

function SealedFields({ form, onChange, error, isNew }: FieldsProps) {
  return (
    <>
      <SealedField
        label="Headers"
        hint="One per line, Name: value. They are never shown again."
        does={form.headersDo}
        text={form.headers}
        error={error?.issueAt("headers")}
        isNew={isNew}
        onDo={(headersDo) => onChange({ headersDo })}
        onText={(headers) => onChange({ headers })}
      />
      <SealedField
        label="Parameters of the URL"
        hint="One per line, name=value. They are never shown again."
        does={form.queryParamsDo}
        text={form.queryParams}
        error={error?.issueAt("queryParams")}
        isNew={isNew}
        onDo={(queryParamsDo) => onChange({ queryParamsDo })}
        onText={(queryParams) => onChange({ queryParams })}
      />
    </>
  );
}

type SealedFieldProps = {
  readonly label: string;
  readonly hint: string;
  readonly does: Sealed;
  readonly text: string;
  readonly error: string | undefined;
  readonly isNew: boolean;
  readonly onDo: (does: Sealed) => void;
  readonly onText: (text: string) => void;
};

/** Text that may hold secrets: of a webhook that exists it is unchanged unless it is replaced. */
function SealedField({ label, hint, does, text, error, isNew, onDo, onText }: SealedFieldProps) {
  const lines = (
    <TextArea
      mono
      rows={3}
      label={isNew ? label : `New ${label.toLowerCase()}`}
      {...{ hint, error }}
      value={text}
      onChange={onText}
    />
  );
  if (isNew) return lines;
  return (
    <>
      <Select
        label={label}
        value={does}
        options={[
          { value: "keep", label: "Unchanged" },
          { value: "replace", label: "Others" },
          { value: "remove", label: "None" },
        ]}
        onChange={onDo}
      />
      {does === "replace" && lines}
    </>
  );
}
