/** Names of live objects with their state, for completion. */
import { CliClient } from "./client/client.ts";
import { listSummaries } from "./client/resolve.ts";
import { findCredentials } from "./credentials/find.ts";
import type { Shell } from "./shell.ts";

export type Candidate = { readonly value: string; readonly description: string };

/** The objects of a word such as `pipe`. Throws when the server does not answer in time. */
export async function objectCandidates(object: string, shell: Shell, patienceMs: number): Promise<Candidate[]> {
  const patience = AbortSignal.timeout(patienceMs);
  const client = new CliClient(findCredentials(shell.flags, shell.io), patience);
  const services = async () => await client.call("listServices", {});
  switch (object) {
    case "service":
      return (await services()).map((one) => candidate(one, one.state));
    case "pipe":
      return (await listSummaries(client)).map((one) => candidate(one, `${one.state} in ${one.serviceName}`));
    case "backup":
    case "from-backup": {
      const backups = await client.call("listAllBackups", {});
      return backups.map((one) => ({ value: one.id, description: `${one.backupName} ${one.verification}` }));
    }
    case "key":
      return (await client.call("listKeys", {})).map((one) => candidate(one, `${one.roles[0]} ${one.state}`));
    case "token":
      return (await client.call("listAccessTokens", {})).map((one) => candidate(one, one.state));
    case "source":
      return (await client.call("listSources", {})).data.map((one) => candidate(one, one.kind));
    case "alert":
      return (await client.call("listAlerts", {})).data.map((one) =>
        candidate({ id: one.id, name: one.name ?? one.id }, one.state),
      );
    case "webhook":
      return (await client.call("listWebhooks", {})).data.map((one) => candidate(one, one.service));
    default:
      return [];
  }
}

/** A name that a shell would take apart is offered as its id. */
function candidate({ id, name }: { readonly id: string; readonly name: string }, state: string): Candidate {
  return /^[\w.][\w.-]*$/.test(name)
    ? { value: name, description: state }
    : { value: id, description: `${name}: ${state}` };
}
