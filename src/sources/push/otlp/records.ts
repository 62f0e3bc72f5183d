/** The records of a request, each with what it was made by: its resource and scope, which are read once for all. */
import type { Entries } from "./columns.ts";
import { Attributes } from "./values.ts";
import { Fields } from "./wire.ts";

export type Origin = {
  readonly serviceName: Buffer;
  readonly resource: Entries;
  readonly resourceUrl: Buffer;
  readonly scopeName: Buffer;
  readonly scopeVersion: Buffer;
  readonly scope: Entries;
  readonly scopeDropped: number;
  readonly scopeUrl: Buffer;
};

type Resource = Pick<Origin, "serviceName" | "resource" | "resourceUrl">;

const empty: Buffer = Buffer.alloc(0);
const attributes = new Attributes();
/** Numbers of fields. They are the same in the requests of all signals, whose records are named differently. */
const request = { resources: 1 };
const resources = { resource: 1, scopes: 2, url: 3 };
const scopes = { scope: 1, records: 2, url: 3 };

/** Shows the spans, log records or metrics of a request in order. */
export function eachRecord(body: Buffer, visit: (record: Fields, origin: Origin) => void): void {
  const fields = new Fields(body);
  while (fields.next()) {
    if (fields.field !== request.resources) continue;
    const resource = resourceOf(fields.inside());
    const inner = fields.inside();
    while (inner.next()) {
      if (inner.field === resources.scopes) eachOfScope(inner, resource, visit);
    }
  }
}

function eachOfScope(scoped: Fields, resource: Resource, visit: (record: Fields, origin: Origin) => void): void {
  const origin = originOf(scoped.inside(), resource);
  const fields = scoped.inside();
  while (fields.next()) {
    if (fields.field === scopes.records) visit(fields.inside(), origin);
  }
}

function resourceOf(fields: Fields): Resource {
  let resourceUrl = empty;
  attributes.clear();
  while (fields.next()) {
    if (fields.field === resources.url) resourceUrl = fields.content();
    else if (fields.field === resources.resource) {
      const inner = fields.inside();
      while (inner.next()) if (inner.field === 1) attributes.add(inner);
    }
  }
  return { serviceName: Buffer.from(attributes.text("service.name")), resource: attributes.kept(), resourceUrl };
}

function originOf(fields: Fields, resource: Resource): Origin {
  let scopeName = empty;
  let scopeVersion = empty;
  let scopeUrl = empty;
  let scopeDropped = 0;
  attributes.clear();
  while (fields.next()) {
    if (fields.field === scopes.url) scopeUrl = fields.content();
    else if (fields.field === scopes.scope) {
      const inner = fields.inside();
      while (inner.next()) {
        if (inner.field === 1) scopeName = inner.content();
        else if (inner.field === 2) scopeVersion = inner.content();
        else if (inner.field === 3) attributes.add(inner);
        else if (inner.field === 4) scopeDropped = inner.number();
      }
    }
  }
  return { ...resource, scopeName, scopeVersion, scopeUrl, scope: attributes.kept(), scopeDropped };
}
