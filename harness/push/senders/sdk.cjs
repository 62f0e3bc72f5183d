// An application with the OpenTelemetry SDK for Node, configured by its environment alone. Sends so many spans.
const { createRequire } = require("node:module");

const required = createRequire(`${process.env.SDK_FOLDER}/`);
const { metrics, trace } = required("@opentelemetry/api");
const { logs } = required("@opentelemetry/api-logs");
const { NodeSDK } = required("@opentelemetry/sdk-node");

const sdk = new NodeSDK({ autoDetectResources: true });
sdk.start();
const tracer = trace.getTracer("shop", "1.0");
for (let id = 0; id < Number(process.argv[2]); id += 1) tracer.startSpan(`span ${id}`, { attributes: { id } }).end();
logs.getLogger("shop").emit({ body: "hello", severityText: "INFO", severityNumber: 9 });
metrics.getMeter("shop").createCounter("orders").add(3, { color: "red" });
sdk.shutdown().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
