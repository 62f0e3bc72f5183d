import { expect, test } from "vitest";
import { environmentName, flagName, loadConfig, settings } from "../config.ts";

const gateway = { gatewayPort: "8443", gatewayDomain: "CH.example.com" };
const load = (settings: Record<string, string>) => loadConfig(settings, {});

test("port and domain make a gateway; the domain is in lower case, because host names are compared so", () => {
  expect(load(gateway)).toMatchObject({ gatewayPort: 8443, gatewayDomain: "ch.example.com" });
  expect(load({ ...gateway, servicePorts: "none" }).servicePorts).toBe("none");
  expect(load({}).gatewayPort).toBeUndefined();
  // The ports of services may be behind proxies too.
  expect(load({ gatewayProxyNetworks: "10.0.0.0/8, fd00::7" }).gatewayProxyNetworks).toBe("10.0.0.0/8, fd00::7");
});

test.each([
  [{ gatewayPort: "8443" }, "gatewayPort and gatewayDomain must be set together"],
  [{ gatewayDomain: "ch.example.com" }, "gatewayPort and gatewayDomain must be set together"],
  [{ ...gateway, gatewayTlsKey: "key.pem" }, "gatewayTlsCert and gatewayTlsKey must be set together"],
  [
    { ...gateway, gatewayPublicUrl: "https://example.com" },
    "gatewayPublicUrl must have the host name of gatewayDomain",
  ],
  [{ gatewayProxyNetworks: "10.0.0.0/8,lb.example" }, 'gatewayProxyNetworks: "lb.example" is neither a network'],
  [{ gatewayProxyNetworks: "10.0.0.0/33" }, 'gatewayProxyNetworks: "10.0.0.0/33" is neither a network'],
  [{ gatewayProxyNetworks: "," }, "gatewayProxyNetworks: must name a network"],
  [{ relayPort: "9000" }, "relayPort requires gatewayPort"],
  [{ servicePorts: "none" }, "servicePorts none requires gatewayPort"],
  [{ ...gateway, gatewayDomain: "10.0.0.1" }, "gatewayDomain: must be a domain name"],
  [{ ...gateway, gatewayDomain: "*.example.com" }, "gatewayDomain: must be a domain name"],
  [{ ...gateway, gatewayDomain: `${"a.".repeat(101)}b` }, "gatewayDomain: must be a domain name"],
  [{ ...gateway, gatewayPort: "0" }, "gatewayPort: "],
  [{ ...gateway, port: "8443" }, "gatewayPort must differ from port"],
  [{ ...gateway, cloudPort: "8443" }, "gatewayPort must differ from cloudPort"],
  [{ ...gateway, relayPort: "8443" }, "gatewayPort must differ from relayPort"],
  [{ port: "abc" }, "port: must be a number"],
  [{ tlsCert: "c.pem" }, "tlsCert and tlsKey must be set together"],
])("%j is refused", (settings, text) => {
  expect(() => load(settings as unknown as Record<string, string>)).toThrow(
    // The settings as flags and the environment name them.
    text
      .replace(/^\w+(?=: )/, (name) => `${flagName(name)} (${environmentName(name)})`)
      .replaceAll(/\b[a-z]+[A-Z]\w*/g, flagName),
  );
});

test("what --help says of a setting names the others by their flags", () => {
  const names = Object.keys(settings).filter((name) => /[A-Z]/.test(name));
  for (const [name, { description = "" }] of Object.entries(settings)) {
    const words = description.match(/\w+/g) ?? [];
    expect([name, words.filter((word) => names.includes(word))]).toEqual([name, []]);
  }
});
