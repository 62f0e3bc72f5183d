/**
 * How many of the pipes that several processes can run each of them runs. Processes agree on it without talking to each
 * other: each computes it from the same rows.
 */
import type { LiveNode, PipeSelection } from "../../../store/nodes/nodes.ts";
import type { Pipe } from "../../../store/pipes/pipes.ts";

type Sized = Pick<Pipe, "sourceKind" | "scaling">;
type Peer = Pick<LiveNode, "id" | "slots" | "takes">;

/** Pipes that the same processes take, and how many of them one process runs at most. */
export type Share<P> = { readonly pipes: readonly P[]; readonly most: number };

/** The shares of this process. Pipes that few processes take come first, so that others leave them the slots. */
export function sharesOf<P extends Sized>(pipes: readonly P[], peers: readonly Peer[], nodeId: string): Share<P>[] {
  const groups = new Map<string, { readonly able: readonly Peer[]; readonly pipes: P[] }>();
  for (const pipe of pipes) {
    const able = peers.filter(({ takes }) => isTaken(pipe, takes));
    const key = able.map(({ id }) => id).join(" ");
    const group = groups.get(key) ?? { able, pipes: [] };
    groups.set(key, group);
    group.pipes.push(pipe);
  }
  const left = new Map(peers.map(({ id, slots }) => [id, slots]));
  const ordered = [...groups].sort(([a, one], [b, other]) => one.able.length - other.able.length || (a < b ? -1 : 1));
  return ordered.map(([, group]) => {
    const most = mostOfEach(
      group.pipes.length,
      group.able.map(({ id }) => left.get(id) ?? 0),
    );
    for (const [at, { id }] of group.able.entries()) left.set(id, (left.get(id) ?? 0) - (most[at] ?? 0));
    return { pipes: group.pipes, most: most[group.able.findIndex(({ id }) => id === nodeId)] ?? 0 };
  });
}

/** True of a pipe whose replicas have limits of their own. */
function isOwnSized({ scaling }: Sized): boolean {
  return scaling.replicaMemoryGb !== undefined || scaling.replicaCpuMillicores !== undefined;
}

function isTaken(pipe: Sized, { kinds, sizes }: PipeSelection): boolean {
  if (kinds !== undefined && !kinds.includes(pipe.sourceKind)) return false;
  return sizes === undefined || sizes === (isOwnSized(pipe) ? "own" : "shared");
}

/**
 * How many of these pipes each process runs at most. Processes with a limited number of slots have no place too many
 * among them: another group needs it. The others have: whoever is first may be the one that runs one more.
 */
function mostOfEach(pipes: number, slots: readonly number[]): number[] {
  const share = fairShare(pipes, slots);
  const most = slots.map((own) => Math.min(own, share));
  let spare = most.reduce((sum, one) => sum + one, 0) - pipes;
  for (let at = most.length - 1; at >= 0 && spare > 0; at -= 1) {
    if (most[at] !== share || slots[at] === Number.POSITIVE_INFINITY) continue;
    most[at] = share - 1;
    spare -= 1;
  }
  return most;
}

/**
 * The smallest number with which processes of these slots run all pipes, none of them more than this number. Without
 * enough slots: the largest number of slots.
 */
export function fairShare(pipes: number, slots: readonly number[]): number {
  let left = pipes;
  let share = 0;
  let open = [...slots].sort((one, other) => one - other);
  while (left > 0 && open.length > 0) {
    const [least = 0] = open;
    const level = Math.min(least, share + Math.ceil(left / open.length));
    left -= (level - share) * open.length;
    share = level;
    open = open.filter((one) => one > share);
  }
  return share;
}
