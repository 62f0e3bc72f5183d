import { useState } from "react";
import { placeless } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { type FormProps, fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Select } from "../../parts/select.tsx";
import { toast } from "../../parts/toast.tsx";
import type { Webhook } from "./watched.ts";
import { type WebhookForm, webhookBody, webhookForm, webhookKinds } from "./webhook-form.ts";

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
    if (webhook === undefined) create.mutate({ body });
    else replace.mutate({ params: { webhookId: webhook.id }, body, ifMatch: webhook.version });
  };
  const action = webhook === undefined ? "Create webhook" : "Save";
  const title = webhook === undefined ? "New webhook" : `Edit ${webhook.name}`;
  return (
    <FormDialog
      {...{ title, action, busy: isPending, onClose, onSubmit: submit }}
      needs="developer"
      failure={placeless(error)}
    >
      <Fields
        form={form}
        onChange={(next) => setForm({ ...form, ...next })}
        error={error}
        isNew={webhook === undefined}
      />
    </FormDialog>
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
      <TextField label="Name" {...field("name")} />
      <Select label="Form" {...field("service")} options={kinds.map(([value, label]) => ({ value, label }))} />
      <TextField
        label="URL"
        hint={`http or https, at an address that webhooks may connect to (--webhook-networks of the server).${again}`}
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

function SealedFields(props: FieldsProps) {
  return (
    <>
      <SealedField {...props} member="headers" label="Headers" line="Name: value" />
      <SealedField {...props} member="queryParams" label="Parameters of the URL" line="name=value" />
    </>
  );
}

type SealedFieldProps = FieldsProps & {
  readonly member: "headers" | "queryParams";
  readonly label: string;
  readonly line: string;
};

/** Text that may hold secrets: of a webhook that exists it is unchanged unless it is replaced. */
function SealedField({ member, label, line, isNew, ...props }: SealedFieldProps) {
  const field = fieldsOf(props);
  const does = `${member}Do` as const;
  const lines = (
    <TextArea
      mono
      rows={3}
      label={isNew ? label : `New ${label.toLowerCase()}`}
      hint={`One per line, ${line}. They are never shown again.`}
      {...field(member)}
    />
  );
  if (isNew) return lines;
  return (
    <>
      <Select
        label={label}
        {...field(does)}
        options={[
          { value: "keep", label: "Unchanged" },
          { value: "replace", label: "Others" },
          { value: "remove", label: "None" },
        ]}
      />
      {props.form[does] === "replace" && lines}
    </>
  );
}
