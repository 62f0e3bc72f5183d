/** The members of a stored service that are JSON. */
import type { AccessListEntry } from "../../api/ip-access.ts";
import { AppError } from "../../lib/errors.ts";
import { columnShapes, readJson } from "../database/column-shapes.ts";
import { connectionOf, managedConnectionOf } from "./service-connections.ts";

export type JsonColumns = {
  readonly connection: string | null;
  readonly managed_connection: string | null;
  readonly ip_access_list: string;
  readonly tags: string;
};

/**
 * A row of which a member cannot be read must not hide the others: the member is empty, so that nobody is admitted and
 * nothing is reached by it, and `problem` says why in a sentence.
 */
export function readMembers(row: JsonColumns) {
  const problems: string[] = [];
  const read = <T>(member: () => T, empty: T): T => {
    try {
      return member();
    } catch (error) {
      problems.push(error instanceof AppError ? error.message : "A stored member of the service cannot be read.");
      return empty;
    }
  };
  const accessList = () => readJson(columnShapes.accessList, row.ip_access_list, "access list of the service");
  const members = {
    connection: read(() => connectionOf(row.connection), null),
    managedConnection: read(() => managedConnectionOf(row.managed_connection), null),
    ipAccessList: read<readonly AccessListEntry[]>(accessList, []),
    tags: read(() => readJson(columnShapes.tags, row.tags, "tags of the service"), []),
  };
  return { members, problem: problems[0] };
}
