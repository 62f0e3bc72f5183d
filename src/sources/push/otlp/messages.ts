/**
 * The messages of OTLP (opentelemetry-proto 1.x) that are read, as data: bodies are checked by them, and JSON becomes
 * Protobuf by them. A field is written as `number name type`, with `*` after the type of a repeated one.
 */

export type FieldType =
  | { readonly kind: "message"; readonly message: Message; readonly isRecord: boolean }
  | { readonly kind: (typeof leafKinds)[number] };

export type MessageField = { readonly number: number; readonly name: string; readonly isRepeated: boolean } & FieldType;

export type Message = {
  readonly name: string;
  readonly byNumber: ReadonlyMap<number, MessageField>;
  readonly byName: ReadonlyMap<string, MessageField>;
};

/** `time` is a fixed64 that must be a time; ids are bytes of a given length, or none. */
const leafKinds = [
  ...["string", "bytes", "traceId", "spanId", "bool", "uint32", "sint32", "int64", "uint64"],
  ...["fixed32", "fixed64", "sfixed64", "time", "double"],
] as const satisfies readonly string[];

const number = "2 startTimeUnixNano time, 3 timeUnixNano time";
const quantities = `${number}, 4 count fixed64, 5 sum double`;
const texts: Readonly<Record<string, string>> = {
  AnyValue:
    "1 stringValue string, 2 boolValue bool, 3 intValue int64, 4 doubleValue double, 5 arrayValue ArrayValue, 6 kvlistValue KeyValueList, 7 bytesValue bytes",
  ArrayValue: "1 values AnyValue*",
  KeyValueList: "1 values KeyValue*",
  KeyValue: "1 key string, 2 value AnyValue",
  Resource: "1 attributes KeyValue*, 2 droppedAttributesCount uint32",
  Scope: "1 name string, 2 version string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32",
  TracesRequest: "1 resourceSpans ResourceSpans*",
  ResourceSpans: "1 resource Resource, 2 scopeSpans ScopeSpans*, 3 schemaUrl string",
  ScopeSpans: "1 scope Scope, 2 spans !Span*, 3 schemaUrl string",
  Span: `1 traceId traceId, 2 spanId spanId, 3 traceState string, 4 parentSpanId spanId, 5 name string, 6 kind uint32, 7 startTimeUnixNano time, 8 endTimeUnixNano time, 9 attributes KeyValue*, 10 droppedAttributesCount uint32, 11 events Event*, 12 droppedEventsCount uint32, 13 links Link*, 14 droppedLinksCount uint32, 15 status Status, 16 flags fixed32`,
  Event: "1 timeUnixNano time, 2 name string, 3 attributes KeyValue*, 4 droppedAttributesCount uint32",
  Link: "1 traceId traceId, 2 spanId spanId, 3 traceState string, 4 attributes KeyValue*, 5 droppedAttributesCount uint32, 6 flags fixed32",
  Status: "2 message string, 3 code uint32",
  LogsRequest: "1 resourceLogs ResourceLogs*",
  ResourceLogs: "1 resource Resource, 2 scopeLogs ScopeLogs*, 3 schemaUrl string",
  ScopeLogs: "1 scope Scope, 2 logRecords !LogRecord*, 3 schemaUrl string",
  LogRecord:
    "1 timeUnixNano time, 2 severityNumber uint32, 3 severityText string, 5 body AnyValue, 6 attributes KeyValue*, 7 droppedAttributesCount uint32, 8 flags fixed32, 9 traceId traceId, 10 spanId spanId, 11 observedTimeUnixNano time, 12 eventName string",
  MetricsRequest: "1 resourceMetrics ResourceMetrics*",
  ResourceMetrics: "1 resource Resource, 2 scopeMetrics ScopeMetrics*, 3 schemaUrl string",
  ScopeMetrics: "1 scope Scope, 2 metrics Metric*, 3 schemaUrl string",
  Metric:
    "1 name string, 2 description string, 3 unit string, 5 gauge Gauge, 7 sum Sum, 9 histogram Histogram, 10 exponentialHistogram ExponentialHistogram, 11 summary Summary",
  Gauge: "1 dataPoints !NumberPoint*",
  Sum: "1 dataPoints !NumberPoint*, 2 aggregationTemporality uint32, 3 isMonotonic bool",
  Histogram: "1 dataPoints !HistogramPoint*, 2 aggregationTemporality uint32",
  ExponentialHistogram: "1 dataPoints !ExponentialPoint*, 2 aggregationTemporality uint32",
  Summary: "1 dataPoints !SummaryPoint*",
  NumberPoint: `${number}, 4 asDouble double, 5 exemplars Exemplar*, 6 asInt sfixed64, 7 attributes KeyValue*, 8 flags uint32`,
  HistogramPoint: `${quantities}, 6 bucketCounts fixed64*, 7 explicitBounds double*, 8 exemplars Exemplar*, 9 attributes KeyValue*, 10 flags uint32, 11 min double, 12 max double`,
  ExponentialPoint: `1 attributes KeyValue*, ${quantities}, 6 scale sint32, 7 zeroCount fixed64, 8 positive Buckets, 9 negative Buckets, 10 flags uint32, 11 exemplars Exemplar*, 12 min double, 13 max double, 14 zeroThreshold double`,
  Buckets: "1 offset sint32, 2 bucketCounts uint64*",
  SummaryPoint: `${quantities}, 6 quantileValues QuantileValue*, 7 attributes KeyValue*, 8 flags uint32`,
  QuantileValue: "1 quantile double, 2 value double",
  Exemplar:
    "2 timeUnixNano time, 3 asDouble double, 4 spanId spanId, 5 traceId traceId, 6 asInt sfixed64, 7 filteredAttributes KeyValue*",
};

const known = new Map<string, Message>();

function messageOf(name: string): Message {
  const before = known.get(name);
  if (before !== undefined) return before;
  const byNumber = new Map<number, MessageField>();
  const byName = new Map<string, MessageField>();
  const message: Message = { name, byNumber, byName };
  known.set(name, message);
  for (const text of (texts[name] as string).split(", ")) {
    const [digits = "", fieldName = "", type = ""] = text.split(" ");
    const bare = type.replace(/^!/, "").replace(/\*$/, "");
    const leaf = leafKinds.find((kind) => kind === bare);
    const content: FieldType =
      leaf === undefined
        ? { kind: "message", message: messageOf(bare), isRecord: type.startsWith("!") }
        : { kind: leaf };
    const field = { number: Number(digits), name: fieldName, isRepeated: type.endsWith("*"), ...content };
    byNumber.set(field.number, field);
    byName.set(fieldName, field);
  }
  return message;
}

/** What is sent, by the last part of its address. A record is what the specification counts: a span, a data point. */
export const signals = {
  traces: { request: messageOf("TracesRequest"), rejected: "rejectedSpans", records: "spans" },
  metrics: { request: messageOf("MetricsRequest"), rejected: "rejectedDataPoints", records: "data points" },
  logs: { request: messageOf("LogsRequest"), rejected: "rejectedLogRecords", records: "log records" },
} as const;

export type Signal = keyof typeof signals;

export function isSignal(name: string): name is Signal {
  return Object.hasOwn(signals, name);
}
