"""An application that `opentelemetry-instrument` configures by its environment alone. Sends so many spans."""
import logging
import sys

from opentelemetry import metrics, trace

tracer = trace.get_tracer("shop", "1.0")
for number in range(int(sys.argv[1])):
    tracer.start_span(f"span {number}", attributes={"id": number}).end()
logging.getLogger("shop").warning("hello")
metrics.get_meter("shop").create_counter("orders").add(3, {"color": "red"})
