/** URLs of the metadata database. They may name several hosts: a primary, and standbys that may replace it. */

const form = /^(postgres(?:ql)?:\/\/(?:[^/?#@]*@)?)([^/?#@]+)([/?#].*)?$/;
const sessionAttributes = "target_session_attrs";

/** One URL for each host, in their order. Throws an error without the URL, which has a password. */
export function urlsOfHosts(url: string): readonly [string, ...string[]] {
  const [, login = "", hosts = "", rest = ""] = form.exec(url) ?? [];
  const [first = "", ...others] = hosts.split(",").map((host) => urlOf(`${login}${host}${rest}`));
  return [first, ...others];
}

/** Why this cannot be a metadata database; undefined when it can. */
export function problemOfUrl(url: string): string | undefined {
  try {
    urlsOfHosts(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The hosts and the database, without user and password. */
export function placeOf(url: string): string {
  const parsed = urlsOfHosts(url).map((one) => new URL(one));
  return `postgres://${parsed.map(({ host }) => host).join(",")}${parsed[0]?.pathname}`;
}

function urlOf(text: string): string {
  if (!URL.canParse(text)) {
    throw new Error("must look like postgres://user:password@host:5432/database, with special characters as %XX");
  }
  const url = new URL(text);
  const wanted = url.searchParams.get(sessionAttributes);
  // That is what the store needs in any case.
  if (wanted !== null && wanted !== "read-write" && wanted !== "primary") {
    throw new Error(`${sessionAttributes} must be read-write or primary, or be left out`);
  }
  url.searchParams.delete(sessionAttributes);
  return url.href;
}
