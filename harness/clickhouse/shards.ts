/** A cluster of plain servers, one per shard, without replicas and Keeper: there is no ON CLUSTER. */
import { element, xml } from "../../src/engine/chdb/xml.ts";
import { type ServerPorts, serverPorts, serverUser, TestServer } from "./server.ts";

export async function startShards(cluster: string, count: number): Promise<TestServer[]> {
  const ports: ServerPorts[] = [];
  for (let shard = 0; shard < count; shard += 1) ports.push(await serverPorts());
  const replica = ({ tcp }: ServerPorts) =>
    element("shard", [
      element("replica", [
        ...["<host>127.0.0.1</host>", element("port", [String(tcp)])],
        ...[element("user", [xml(serverUser.name)]), element("password", [xml(serverUser.password)])],
      ]),
    ]);
  const servers = element("remote_servers", [element(cluster, ports.map(replica))]);
  const start = (own: ServerPorts, index: number) => {
    const macros = element("macros", [element("shard", [String(index + 1)]), element("replica", [`r${index + 1}`])]);
    return TestServer.start({ ports: own, configuration: [servers, macros] });
  };
  return await Promise.all(ports.map(start));
}
