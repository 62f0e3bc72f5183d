/** The form of a move to a ClickHouse server, and the requests that it makes. */
import type { CallInput } from "../../api/client.ts";
import type { Issue } from "../../api/error.ts";

export type MoveForm = Readonly<typeof emptyMove>;

export const emptyMove = {
  /** Id of an external service whose server is the target; empty: the connection below. */
  target: "",
  /** One per line. */
  urls: "",
  username: "default",
  password: "",
  cluster: "",
  caCertificate: "",
};

type Body = CallInput<"planServiceMove">["body"];

/** What is empty and not required is left out. */
export function moveBodyOf(form: MoveForm): Body {
  if (form.target !== "") return { targetServiceId: form.target };
  const lines = form.urls.split(/[\s,]+/).filter((line) => line !== "");
  const cluster = form.cluster.trim();
  const caCertificate = form.caCertificate.trim();
  return {
    connection: {
      urls: lines,
      username: form.username.trim(),
      password: form.password,
      ...(cluster === "" ? {} : { cluster }),
      ...(caCertificate === "" ? {} : { tls: { caCertificate } }),
    },
  };
}

const members = ["urls", "username", "password", "cluster", "tls"] as const;
export type MoveMember = (typeof members)[number];

/** Messages about a member of the connection, with those about its elements. */
export function problemsAt(member: MoveMember, issues: readonly Issue[]): string | undefined {
  const messages = issues.filter(({ path }) => isAt(path, member)).map(({ message }) => message);
  return messages.length === 0 ? undefined : messages.join("; ");
}

/** Issues that belong to no field of the form. */
export function otherIssues(issues: readonly Issue[]): readonly Issue[] {
  return issues.filter(({ path }) => !members.some((member) => isAt(path, member)));
}

function isAt(path: string, member: MoveMember): boolean {
  const name = `connection.${member}`;
  return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
}
