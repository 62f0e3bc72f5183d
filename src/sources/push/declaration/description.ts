/** Rows that applications send, in words and inputs. */
import type { SourceDescription } from "../../contract/description.ts";
import { choices } from "../../contract/fields.ts";

export const pushFormats = [
  "JSONEachRow",
  "CSVWithNames",
  "TabSeparatedWithNames",
  "Parquet",
  "Avro",
  "ORC",
  "Arrow",
  "otlp",
] as const;

/** The tables of a pipe of OpenTelemetry, which it creates. */
export const otlpTables = [
  "otel_logs",
  "otel_traces",
  "otel_metrics_gauge",
  "otel_metrics_sum",
  "otel_metrics_histogram",
  "otel_metrics_exponential_histogram",
  "otel_metrics_summary",
] as const;

export const pushDescription = {
  word: "push",
  label: "HTTP",
  reads: "rows that applications send",
  summaries: ["{format} that is sent to it", "JSON that is sent to it"],
  named: ["{format}"],
  guarantees: [
    {
      when: [],
      text: "A request is answered when its rows are durable, and each row is written exactly once, also when a sender repeats a request with its Idempotency-Key. Rows that do not fit are kept apart with their reason, and can be replayed.",
    },
  ],
  group: "applications",
  vendors: [
    { label: "HTTP and webhooks", values: { format: "JSONEachRow" } },
    { label: "OpenTelemetry", values: { format: "otlp" } },
  ],
  fields: [
    {
      path: "format",
      label: "Format",
      input: "choice",
      flag: ["--format <format>", "Format of the bodies; default JSONEachRow"],
      step: "data",
      first: "JSONEachRow",
      options: [
        ...choices(...pushFormats.filter((format) => format !== "otlp")),
        { value: "otlp", label: "OpenTelemetry" },
      ],
    },
    {
      path: "delimiter",
      label: "Delimiter",
      flag: ["--delimiter <character>", "Field separator of CSV"],
      step: "data",
      when: [{ path: "format", is: ["CSVWithNames"] }],
    },
    {
      path: "signature.scheme",
      label: "Signed requests",
      input: "choice",
      flag: ["--scheme <name>", "Accepts signed requests of others: generic, github or stripe"],
      step: "connection",
      options: [
        { value: "", label: "No: senders have a key" },
        { value: "github", label: "GitHub" },
        { value: "stripe", label: "Stripe" },
        { value: "generic", label: "Others: HMAC of the body" },
      ],
      when: [{ path: "format", not: ["otlp"] }],
    },
    {
      path: "signature.secret",
      label: "Secret of the signature",
      input: "secret",
      flag: ["--signing-secret-file <file>", "the secret that signs requests"],
      step: "connection",
      when: [
        { path: "signature.scheme", isSet: true },
        { path: "format", not: ["otlp"] },
      ],
    },
  ],
  listing: { of: "nothing", member: "format" },
  ownsTables: [{ path: "format", is: ["otlp"] }],
  hasInbox: true,
  mutable: [
    "signature",
    "allowedOrigins",
    "idempotencyWindowSeconds",
    "wakeAfterRows",
    "wakeAfterBytes",
    "wakeAfterSeconds",
    "maxInboxGb",
    "ttlDays",
  ],
  secrets: ["signature.secret"],
  logins: [{ when: [{ path: "signature.scheme", isSet: true }], members: ["signature.secret"] }],
  settings: ["streaming_", "database_"],
  example: { title: "Rows that applications send", name: "Events", source: {} },
} as const satisfies SourceDescription;
