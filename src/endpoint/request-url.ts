/** The target of a request. */
import type { IncomingMessage } from "node:http";
import { clickHouseException } from "../clickhouse/exception.ts";

/** Throws BAD_ARGUMENTS for a target such as `//`, which clients may send before they have logged in. */
export function requestUrl({ url = "/" }: IncomingMessage): URL {
  const parsed = URL.parse(url, "http://host");
  if (parsed === null) throw clickHouseException("BAD_ARGUMENTS", "The target of the request is not a valid path.");
  return parsed;
}
