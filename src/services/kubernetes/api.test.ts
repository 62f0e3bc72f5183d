import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { KubernetesApi } from "./api.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const clear = { name: "c", cluster: { server: "http://10.0.0.1:8080" } };
const context = { contexts: [{ name: "c", context: { cluster: "c", user: "u" } }], "current-context": "c" };

test.each([
  ["is not YAML", "{", "cannot be read"],
  ["names no cluster", JSON.stringify({ clusters: [clear], users: [] }), "has no current context that names a cluster"],
  [
    "has no TLS",
    JSON.stringify({ clusters: [clear], users: [{ name: "u", user: {} }], ...context }),
    "would send credentials in the clear to http://10.0.0.1:8080; write https, or insecure-skip-tls-verify: true",
  ],
])("a kubeconfig that %s is refused with what is wrong", async (_, content, why) => {
  const configFile = join(folder, "config");
  writeFileSync(configFile, content);
  await expect(new KubernetesApi({ namespace: "n", configFile }).read("x")).rejects.toMatchObject({
    code: "KUBERNETES_REFUSED",
    message: `The kubeconfig of Millrace ${why}; check --kubernetes-config.`,
  });
});
