/** Spans as rows of `otel_traces`. */
import { Block, Ends } from "./columns.ts";
import { collect, Found } from "./found.ts";
import { eachRecord, type Origin } from "./records.ts";
import { Attributes } from "./values.ts";
import type { Fields } from "./wire.ts";

const kinds = ["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"].map((kind) => Buffer.from(kind));
const codes = ["Unset", "Ok", "Error"].map((code) => Buffer.from(code));
const nothing = Buffer.alloc(0);

export class Traces {
  readonly block = new Block();
  readonly #timestamp = this.block.plain("Timestamp", "DateTime64(9)");
  readonly #traceId = this.block.text("TraceId");
  readonly #spanId = this.block.text("SpanId");
  readonly #parentSpanId = this.block.text("ParentSpanId");
  readonly #traceState = this.block.text("TraceState");
  readonly #spanName = this.block.text("SpanName");
  readonly #spanKind = this.block.text("SpanKind");
  readonly #serviceName = this.block.text("ServiceName");
  readonly #resource = this.block.map("ResourceAttributes");
  readonly #scopeName = this.block.text("ScopeName");
  readonly #scopeVersion = this.block.text("ScopeVersion");
  readonly #attributes = this.block.map("SpanAttributes");
  readonly #duration = this.block.plain("Duration", "UInt64");
  readonly #statusCode = this.block.text("StatusCode");
  readonly #statusMessage = this.block.text("StatusMessage");
  readonly #events = new Ends();
  readonly #eventTimes = this.block.list("Events.Timestamp", "DateTime64(9)", this.#events);
  readonly #eventNames = this.block.list("Events.Name", "String", this.#events);
  readonly #eventAttributes = this.block.mapList("Events.Attributes", this.#events);
  readonly #links = new Ends();
  readonly #linkTraces = this.block.list("Links.TraceId", "String", this.#links);
  readonly #linkSpans = this.block.list("Links.SpanId", "String", this.#links);
  readonly #linkStates = this.block.list("Links.TraceState", "String", this.#links);
  readonly #linkAttributes = this.block.mapList("Links.Attributes", this.#links);
  readonly #span = new Found();
  readonly #inner = new Found();
  readonly #own = new Attributes();
  readonly #innerOwn = new Attributes();

  add(body: Buffer): void {
    eachRecord(body, (span, origin) => this.#add(span, origin));
  }

  #add(span: Fields, origin: Origin): void {
    this.#span.begin(span);
    this.#own.clear();
    let [events, links] = [0, 0];
    while (span.next()) {
      if (span.field === 9) this.#own.add(span);
      else if (span.field === 11) {
        this.#event(span.inside());
        events += 1;
      } else if (span.field === 13) {
        this.#link(span.inside());
        links += 1;
      } else this.#span.take(span);
    }
    this.#events.add(events);
    this.#links.add(links);
    this.#own.write(this.#attributes);
    this.#write(this.#span, origin);
    this.block.rows += 1;
  }

  #write(span: Found, origin: Origin): void {
    span.hex(1, this.#traceId);
    span.hex(2, this.#spanId);
    span.text(3, this.#traceState);
    span.hex(4, this.#parentSpanId);
    span.text(5, this.#spanName);
    this.#spanKind.text(kinds[span.number(6)] ?? nothing);
    span.eight(7, this.#timestamp);
    this.#duration.bigUint64(BigInt.asUintN(64, span.fixed64(8) - span.fixed64(7)));
    this.#status(span.inside(15));
    this.#serviceName.text(origin.serviceName);
    this.#resource.add(origin.resource);
    this.#scopeName.text(origin.scopeName);
    this.#scopeVersion.text(origin.scopeVersion);
  }

  #status(status: Fields): void {
    collect(this.#inner, status);
    this.#inner.text(2, this.#statusMessage);
    this.#statusCode.text(codes[this.#inner.number(3)] ?? nothing);
  }

  #event(event: Fields): void {
    collect(this.#inner, event, 3, this.#innerOwn);
    this.#inner.eight(1, this.#eventTimes);
    this.#inner.text(2, this.#eventNames);
    this.#innerOwn.write(this.#eventAttributes);
  }

  #link(link: Fields): void {
    collect(this.#inner, link, 4, this.#innerOwn);
    this.#inner.hex(1, this.#linkTraces);
    this.#inner.hex(2, this.#linkSpans);
    this.#inner.text(3, this.#linkStates);
    this.#innerOwn.write(this.#linkAttributes);
  }
}
