/** Host names of services at the gateway: `<id>.<domain>`. */
import { isIP } from "node:net";

/** What the `Host` header of a request names. */
export type NamedHost =
  /** `id` is the label before the domain, in lower case; not necessarily the id of a service. */
  | { readonly kind: "service"; readonly id: string }
  /** The domain itself. */
  | { readonly kind: "gateway" }
  | { readonly kind: "missing" | "address" | "foreign" };

/** The host name of a service. */
export function hostNameOf(serviceId: string, domain: string): string {
  return `${serviceId}.${domain}`;
}

/** Reads a `Host` header with or without a port. Names are compared without regard to case, and may end with a dot. */
export function namedHostOf(header: string | undefined, domain: string): NamedHost {
  const name = nameWithoutPort(header ?? "");
  if (name === "") return { kind: "missing" };
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0) return { kind: "address" };
  if (name === domain) return { kind: "gateway" };
  const id = name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : "";
  return id === "" || id.includes(".") ? { kind: "foreign" } : { kind: "service", id };
}

/** The host name of the header in lower case, without its port and without a final dot. */
export function nameWithoutPort(header: string): string {
  return header.trim().toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
}
