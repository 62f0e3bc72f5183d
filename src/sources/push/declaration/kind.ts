/** `source.push`: rows that applications send to the pipe's own address. */
import { z } from "zod";
import type { JsonObject } from "../../../lib/json.ts";
import type { SourceKind } from "../../contract/source.ts";
import { otlpTables, pushDescription, pushFormats } from "./description.ts";
import { pushShapes } from "./durable.ts";

const signature = z.strictObject({
  scheme: z
    .enum(["generic", "github", "stripe"])
    .describe(
      "How a request is signed with HMAC-SHA256. `generic`: the body, as hex or base64 in `header`; `github`: X-Hub-Signature-256; `stripe`: Stripe-Signature, with the time",
    ),
  secret: z.string().min(8).max(512),
  header: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, { error: "must be the name of a header" })
    .optional()
    .describe("For `generic`: the header with the signature, default X-Signature"),
  timestampHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, { error: "must be the name of a header" })
    .optional()
    .describe("For `generic`: a header with the time in UNIX seconds, which is signed before the body and a dot"),
  toleranceSeconds: z.int().min(1).max(86_400).optional().describe("Greatest age of a signed time, default 300"),
});

const days = z.int().min(1).max(36_500).optional();

const request = z.strictObject({
  format: z
    .enum(pushFormats)
    .optional()
    .describe("Format of the bodies, default JSONEachRow. `otlp` is OpenTelemetry: the pipe creates its tables"),
  ttlDays: z
    .strictObject({ logs: days, traces: days, metrics: days })
    .optional()
    .describe("Days after which telemetry is deleted, by its kind, with otlp; default: never"),
  delimiter: z.string().length(1).optional().describe("Field separator of CSV, default `,`"),
  signature: signature
    .optional()
    .describe("Accepts requests without a key that are signed with the secret: webhooks of others"),
  allowedOrigins: z
    .array(z.string().regex(/^(\*|https?:\/\/[^/\s]+)$/, { error: "must look like https://app.example.com, or be *" }))
    .max(100)
    .optional()
    .describe("Pages of these origins may send rows from browsers, with a key; default: none"),
  idempotencyWindowSeconds: z
    .int()
    .min(60)
    .max(604_800)
    .optional()
    .describe("How long an Idempotency-Key is remembered, default 86400. At most the newest 500,000 keys are"),
  wakeAfterRows: z.int().min(1).max(10_000_000).optional().describe("Wakes a sleeping service, default 10000"),
  wakeAfterBytes: z.int().min(1).max(1_073_741_824).optional().describe("Wakes a sleeping service, default 16777216"),
  wakeAfterSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("Age of the oldest row that wakes a sleeping service, default 60"),
  maxInboxGb: z
    .number()
    .min(0.001)
    .max(1_024)
    .optional()
    .describe("Above this size of the inbox, in GiB, rows are refused until some are loaded; default 10"),
});

export type PushConfig = z.output<typeof request>;
export type PushFormat = (typeof pushFormats)[number];

export const push = {
  ...pushDescription,
  key: "push",
  durable: pushShapes,
  request,
  rules,
  targets: ({ format }) => (format === "otlp" ? otlpTables : undefined),
} satisfies SourceKind;

function rules(config: JsonObject): { path: string; message: string }[] {
  const { format, delimiter, ttlDays, signature: signed } = config as Partial<PushConfig>;
  const issues: { path: string; message: string }[] = [];
  if (ttlDays !== undefined && format !== "otlp") {
    issues.push({ path: "ttlDays", message: "is only for the format otlp, whose tables the pipe creates" });
  }
  if (delimiter !== undefined && format !== "CSVWithNames") {
    issues.push({ path: "delimiter", message: "is only for the format CSVWithNames" });
  } else if (delimiter !== undefined && /["\n\r\s]/.test(delimiter) && delimiter !== "\t") {
    issues.push({ path: "delimiter", message: "must not be a quote or white space other than a tab" });
  }
  if (signed !== undefined && signed.scheme !== "generic") {
    for (const member of ["header", "timestampHeader"] as const) {
      if (signed[member] === undefined) continue;
      issues.push({
        path: `signature.${member}`,
        message: `is only for the scheme generic: ${signed.scheme} names its own`,
      });
    }
  }
  return issues;
}
