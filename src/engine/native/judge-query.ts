/** Has a native query judged, with what its session holds. */
import type { DatabasePrincipal } from "../../endpoint/auth/logins.ts";
import type { NativeSession } from "../../endpoint/native/session.ts";
import type { StatementVerdict } from "../sql/guard.ts";
import type { NativeOptions } from "./options.ts";
import type { ClientQuery } from "./query-packet.ts";
import { passedSettings } from "./settings.ts";

/** Resolves with the verdict and the query as it was judged. Rejects with the exception for the client. */
export async function judgeQuery(
  guard: NativeOptions["guard"],
  session: NativeSession,
  principal: DatabasePrincipal,
  query: ClientQuery,
): Promise<{ readonly verdict: StatementVerdict; readonly judged: ClientQuery }> {
  const held = session.settings.map(([name, value]) => ({ name, flags: 0, value }));
  const settings = passedSettings([...held, ...query.settings], query.isPart);
  const parameters = [...new Map([...session.parameters, ...query.parameters])];
  const verdict = await guard.judge({
    text: query.text,
    complete: true,
    params: parameters,
    settings: settings.map(({ name, value }) => [name, value] as const),
    readonly: principal.readonly > 0,
    restricted: principal.restricted,
    get: false,
  });
  return { verdict, judged: { ...query, settings, parameters } };
}
