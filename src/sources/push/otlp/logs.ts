/** Log records as rows of `otel_logs`. */
import { Block } from "./columns.ts";
import { collect, Found } from "./found.ts";
import { eachRecord, type Origin } from "./records.ts";
import { Attributes } from "./values.ts";
import type { Fields } from "./wire.ts";

export class Logs {
  readonly block = new Block();
  readonly #timestamp = this.block.plain("Timestamp", "DateTime64(9)");
  readonly #traceId = this.block.text("TraceId");
  readonly #spanId = this.block.text("SpanId");
  readonly #flags = this.block.plain("TraceFlags", "UInt8");
  readonly #severity = this.block.text("SeverityText");
  readonly #severityNumber = this.block.plain("SeverityNumber", "UInt8");
  readonly #serviceName = this.block.text("ServiceName");
  readonly #body = this.block.text("Body");
  readonly #resourceUrl = this.block.text("ResourceSchemaUrl");
  readonly #resource = this.block.map("ResourceAttributes");
  readonly #scopeUrl = this.block.text("ScopeSchemaUrl");
  readonly #scopeName = this.block.text("ScopeName");
  readonly #scopeVersion = this.block.text("ScopeVersion");
  readonly #scope = this.block.map("ScopeAttributes");
  readonly #attributes = this.block.map("LogAttributes");
  readonly #eventName = this.block.text("EventName");
  readonly #record = new Found();
  readonly #own = new Attributes();

  add(body: Buffer): void {
    eachRecord(body, (record, origin) => this.#add(record, origin));
  }

  #add(fields: Fields, origin: Origin): void {
    const record = this.#record;
    collect(record, fields, 6, this.#own);
    // A record without a time of its own has the one at which it was observed.
    record.eight(record.fixed64(1) === 0n ? 11 : 1, this.#timestamp);
    this.#severityNumber.byte(record.number(2));
    record.text(3, this.#severity);
    record.value(5, this.#body);
    this.#own.write(this.#attributes);
    this.#flags.byte(record.fixed32(8));
    record.hex(9, this.#traceId);
    record.hex(10, this.#spanId);
    record.text(12, this.#eventName);
    this.#serviceName.text(origin.serviceName);
    this.#resourceUrl.text(origin.resourceUrl);
    this.#resource.add(origin.resource);
    this.#scopeUrl.text(origin.scopeUrl);
    this.#scopeName.text(origin.scopeName);
    this.#scopeVersion.text(origin.scopeVersion);
    this.#scope.add(origin.scope);
    this.block.rows += 1;
  }
}
