/** Reads and writes members by path, in JSON values. Nothing here knows a name. */
import { isObject } from "../lib/json.ts";

/** Names, with `*` for every element of a list. */
type Path = readonly string[];

export type FoundMember = { readonly path: string; readonly value: unknown };

/** The members at `path` that are present, with their exact paths. */
export function membersAt(value: unknown, path: string): FoundMember[] {
  return found(value, pathOf(path), "");
}

function found(value: unknown, [name, ...rest]: Path, prefix: string): FoundMember[] {
  if (name === undefined) return value === undefined ? [] : [{ path: prefix, value }];
  const inner = prefix === "" ? "" : `${prefix}.`;
  if (name === "*") {
    return Array.isArray(value) ? value.flatMap((item, index) => found(item, rest, `${inner}${index}`)) : [];
  }
  return isObject(value) ? found(value[name], rest, `${inner}${name}`) : [];
}

/** A copy in which the values at `path` are replaced; those for which `change` returns undefined are removed. */
export function changedAt(value: unknown, path: string, change: (value: unknown) => unknown): unknown {
  return changed(value, pathOf(path), change);
}

function changed(value: unknown, [name, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (name === undefined) return change(value);
  if (name === "*") return Array.isArray(value) ? value.map((item) => changed(item, rest, change)) : value;
  if (!isObject(value) || value[name] === undefined) return value;
  const { [name]: old, ...others } = value;
  const next = changed(old, rest, change);
  return next === undefined ? others : { ...value, [name]: next };
}

/** A copy with the member at `path`, if the object that holds it is there. */
export function withMember(value: unknown, path: string, member: unknown): unknown {
  const names = pathOf(path);
  const last = names.pop() as string;
  return changed(value, names, (holder) => (isObject(holder) ? { ...holder, [last]: member } : holder));
}

function pathOf(path: string): string[] {
  return path === "" ? [] : path.split(".");
}
