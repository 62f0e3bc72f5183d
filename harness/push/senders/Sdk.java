import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;

/** An application with the OpenTelemetry SDK for Java, configured by its environment alone. Sends so many spans. */
public class Sdk {
  public static void main(String[] args) {
    try (OpenTelemetrySdk sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk()) {
      var tracer = sdk.getTracer("shop", "1.0");
      for (long id = 0; id < Long.parseLong(args[0]); id += 1) {
        tracer.spanBuilder("span " + id).setAttribute("id", id).startSpan().end();
      }
      sdk.getLogsBridge().get("shop").logRecordBuilder().setSeverity(Severity.INFO).setBody("hello").emit();
      var orders = sdk.getMeter("shop").counterBuilder("orders").build();
      orders.add(3, Attributes.of(AttributeKey.stringKey("color"), "red"));
    }
  }
}
