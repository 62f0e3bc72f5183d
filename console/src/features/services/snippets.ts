/** How clients connect to a service. The password is read from the environment: no snippet contains it. */

export type SnippetInput = {
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
  readonly username: string;
};

export type Snippet = { readonly value: string; readonly label: string; readonly text: string };

/** One snippet per client, filled in: those of HTTP for the first endpoint, and one for the native protocol. */
export function snippetsFor(endpoints: readonly SnippetInput[]): readonly Snippet[] {
  const [first] = endpoints;
  const native = endpoints.find(({ protocol }) => protocol.startsWith("native"));
  return [
    ...(first === undefined ? [] : httpSnippets(first)),
    ...(native === undefined ? [] : [nativeSnippet(native)]),
  ];
}

function nativeSnippet({ protocol, host, port, username }: SnippetInput): Snippet {
  const secure = protocol === "nativesecure";
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    value: "native",
    label: "Native",
    text: `# clickhouse-client
clickhouse-client --host ${host} --port ${port} --user ${username} --password "$CLICKHOUSE_PASSWORD"${secure ? " --secure" : ""}

# clickhouse-go, golang-migrate and other clients that take a URL
clickhouse://${username}:$CLICKHOUSE_PASSWORD@${address}/default${secure ? "?secure=true" : ""}`,
  };
}

function httpSnippets({ protocol, host, port, username }: SnippetInput): readonly Snippet[] {
  const url = `${protocol}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const secure = protocol === "https";
  return [
    {
      value: "curl",
      label: "curl",
      text: `curl --user "${username}:$CLICKHOUSE_PASSWORD" '${url}/' \\\n  --data-binary 'SELECT version()'`,
    },
    {
      value: "node",
      label: "Node",
      text: `// npm install @clickhouse/client
import { createClient } from "@clickhouse/client";

const client = createClient({
  url: "${url}",
  username: "${username}",
  password: process.env.CLICKHOUSE_PASSWORD,
});
const result = await client.query({ query: "SELECT version()", format: "JSONEachRow" });
console.log(await result.json());`,
    },
    {
      value: "python",
      label: "Python",
      text: `# pip install clickhouse-connect
import os
import clickhouse_connect

client = clickhouse_connect.get_client(
    host="${host}", port=${port}, secure=${secure ? "True" : "False"},
    username="${username}", password=os.environ["CLICKHOUSE_PASSWORD"],
)
print(client.query("SELECT version()").result_rows)`,
    },
    {
      value: "java",
      label: "Java",
      text: `// com.clickhouse:client-v2
Client client = new Client.Builder()
    .addEndpoint("${url}")
    .setUsername("${username}")
    .setPassword(System.getenv("CLICKHOUSE_PASSWORD"))
    .build();
client.queryAll("SELECT version()").forEach(row -> System.out.println(row.getString(1)));`,
    },
    {
      value: "grafana",
      label: "Grafana",
      text: `apiVersion: 1
datasources:
  - name: Millrace
    type: grafana-clickhouse-datasource
    jsonData:
      host: ${host}
      port: ${port}
      protocol: http
      secure: ${secure}
      username: ${username}
    secureJsonData:
      password: $CLICKHOUSE_PASSWORD`,
    },
    {
      value: "env",
      label: "Environment",
      text: `CLICKHOUSE_URL=${url}\nCLICKHOUSE_HOST=${host}\nCLICKHOUSE_PORT=${port}\nCLICKHOUSE_USER=${username}\nCLICKHOUSE_PASSWORD=`,
    },
  ];
}
