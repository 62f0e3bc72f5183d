/** The route that all features hang their routes on. */
import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  lazyRouteComponent,
  type ResolveFullPath,
  type ResolveId,
} from "@tanstack/react-router";
import { probeNow } from "../api/connection.ts";
import { unreachable } from "../api/error.ts";
import { missingStyles } from "../lib/styles.ts";
import { NotFoundPage, RoutePending } from "./route-states.tsx";
import { Shell } from "./shell.tsx";

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  pendingComponent: RoutePending,
});

/** What `load` gives. Throws the sentence that is shown in its place. */
async function codeOf<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    await missingStyles();
    return await load();
  } catch {
    if (!(await probeNow())) throw unreachable();
  }
  // At these words the router loads the page again, once: the server may have been updated.
  throw new Error("Importing a module script failed: this screen is not part of the page any more.");
}

/** A route whose screen is loaded when it is first opened; `validateSearch` says what its address can hold. */
export function screen<
  Parent extends AnyRoute,
  const Path extends string,
  // biome-ignore lint/suspicious/noExplicitAny: as the router has it.
  Module extends Record<string, any>,
  Name extends keyof Module,
  Search = undefined,
>(parent: Parent, path: Path, load: () => Promise<Module>, name: Name, validateSearch?: Search) {
  type FullPath = ResolveFullPath<Parent, Path>;
  const options = {
    getParentRoute: () => parent,
    path,
    component: lazyRouteComponent(() => codeOf(load), name),
    // The router keeps what a check leaves out.
    validateSearch:
      typeof validateSearch !== "function"
        ? undefined
        : (search: object) => ({ ...noneOf(search), ...validateSearch(search) }),
  };
  // The router's own type of options asks for more than it needs of a parent that is not known yet.
  return createRoute<unknown, Parent, Path, FullPath, string, ResolveId<Parent, string, Path>, Search>(
    options as never,
  );
}

function noneOf(search: object): object {
  return Object.fromEntries(Object.keys(search).map((name) => [name, undefined]));
}
