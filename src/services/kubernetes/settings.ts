import type { Config } from "../../config.ts";
import { parseHosts } from "../../lib/host-list.ts";
import { altinityOperator } from "./altinity.ts";
import { KubernetesApi } from "./api.ts";
import { clickHouseOperator } from "./clickhouse-cluster.ts";
import type { ClusterOperator } from "./operator.ts";

const makers = { altinity: altinityOperator, clickhouse: clickHouseOperator };

/** Undefined where no services run in Kubernetes. */
export function clusterOf(
  config: Config,
): { readonly api: KubernetesApi; readonly operator: ClusterOperator } | undefined {
  const { kubernetesNamespace: namespace, kubernetesKeeper: keeper, kubernetesConfig: configFile } = config;
  if (namespace === undefined) return undefined;
  const operator = makers[config.kubernetesOperator]({
    namespace,
    image: config.kubernetesImage,
    storageClass: config.kubernetesStorageClass,
    keeper: keeper === undefined ? [] : parseHosts(keeper),
    volumes: config.kubernetesVolumes,
  });
  return { api: new KubernetesApi({ namespace, configFile, product: operator.product }), operator };
}
