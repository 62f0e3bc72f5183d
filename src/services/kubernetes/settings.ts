import type { Config } from "../../config.ts";
import { parseHosts } from "../../lib/host-list.ts";
import type { InstallationSettings } from "./installation.ts";

/** Undefined where no services run in Kubernetes. */
export function kubernetesSettings(config: Config): InstallationSettings | undefined {
  const { kubernetesNamespace: namespace, kubernetesKeeper: keeper } = config;
  if (namespace === undefined) return undefined;
  return {
    namespace,
    image: config.kubernetesImage,
    storageClass: config.kubernetesStorageClass,
    keeper: keeper === undefined ? [] : parseHosts(keeper),
    volumes: config.kubernetesVolumes,
  };
}
