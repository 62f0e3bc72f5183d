import { expect, test } from "vitest";
import { loadConfig } from "../../config.ts";
import { atNode, publicEndpoint } from "./endpoints.ts";
import { ownEndpoints } from "./services.ts";

const service = {
  id: "11111111-1111-4111-8111-111111111111",
  port: 21_000,
  nativePort: 22_000,
  runtime: "embedded",
} as const;
const name = `${service.id}.ch.example.com`;
const gateway = { gatewayPort: "8443", gatewayDomain: "ch.example.com" };
/** What a record shows, as URLs. */
const urls = (settings: Record<string, string>, over: { port?: number; hasTls?: boolean; node?: string } = {}) => {
  const facts = atNode(publicEndpoint(loadConfig(settings, {}), over.hasTls ?? false), over.node);
  const endpoints = ownEndpoints({ ...service, port: over.port ?? service.port }, facts);
  return endpoints.map(({ protocol, host, port }) => `${protocol}://${host}:${port}`);
};

test.each([
  ["no gateway", {}, {}, ["http://127.0.0.1:21000", "native://127.0.0.1:22000"]],
  ["a gateway", gateway, {}, [`http://${name}:8443`, "http://127.0.0.1:21000", "native://127.0.0.1:22000"]],
  [
    "the certificate of the API",
    gateway,
    { hasTls: true },
    [
      `https://${name}:8443`,
      "https://127.0.0.1:21000",
      `nativesecure://${name}:8443`,
      "nativesecure://127.0.0.1:22000",
    ],
  ],
  [
    "a certificate of its own",
    { ...gateway, gatewayTlsCert: "c", gatewayTlsKey: "k" },
    {},
    [`https://${name}:8443`, "http://127.0.0.1:21000", `nativesecure://${name}:8443`, "native://127.0.0.1:22000"],
  ],
  [
    "a proxy in front of both",
    { ...gateway, publicUrl: "https://millrace.example.com", gatewayPublicUrl: "https://ch.example.com" },
    {},
    [`https://${name}:443`, "https://millrace.example.com:21000", "nativesecure://millrace.example.com:22000"],
  ],
  [
    "an engine of another server",
    gateway,
    { node: "https://b.example.com:8150" },
    [`http://${name}:8443`, "https://b.example.com:21000", "nativesecure://b.example.com:22000"],
  ],
  ["no native ports", { nativePorts: "none" }, {}, ["http://127.0.0.1:21000"]],
  ["no ports", { ...gateway, servicePorts: "none" }, {}, [`http://${name}:8443`]],
  ["a service that was created without one", gateway, { port: -17 }, [`http://${name}:8443`]],
])("%s", (_, settings, over, expected) => {
  expect(urls(settings, over)).toEqual(expected);
});
