/**
 * What a server may do where the kernel does not confine engines and pipe workers: whoever breaks out of one of them is
 * the operator. So there may be nobody but the operator, unless the operator says otherwise.
 */
import type { Config } from "../config.ts";
import type { ConfinementState } from "../confinement/state.ts";
import { isLoopbackHost } from "../outgoing/policy.ts";
import type { LeasedStores } from "../store/open.ts";

type Given = {
  readonly confinement: Pick<ConfinementState, "confined" | "sentence">;
  readonly config: Pick<Config, "host" | "unconfined">;
  readonly organizations: number;
  /** True when statements have made users, who have only what was granted to them. */
  readonly hasSqlUsers: boolean;
};

/** Why the server does not start; undefined when it may. */
export function problemOfUnconfined({ confinement, config, organizations, hasSqlUsers }: Given): string | undefined {
  if (confinement.confined || config.unconfined) return undefined;
  const others = [
    ...(isLoopbackHost(config.host) ? [] : [`clients of other machines (--host ${config.host})`]),
    ...(organizations > 1 ? [`${organizations} organizations`] : []),
    ...(hasSqlUsers ? ["users made by SQL, who may read only what was granted"] : []),
  ];
  if (others.length === 0) return undefined;
  return `${confinement.sentence} This server has ${others.join(", and ")}. Run it where the kernel confines processes (see docs/security.md), or set --unconfined to trust all of them like the operator.`;
}

/** Throws where the server may not run. */
export async function requireConfinedUsers(
  stores: Pick<LeasedStores, "organizations" | "services">,
  config: Config,
  confinement: ConfinementState,
): Promise<void> {
  if (confinement.confined || config.unconfined) return;
  const users = await stores.services.listAllUsers();
  const problem = problemOfUnconfined({
    ...{ confinement, config, organizations: (await stores.organizations.list()).length },
    hasSqlUsers: users.some(({ rights }) => rights !== null),
  });
  if (problem !== undefined) throw new Error(problem);
}
