import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { type AccessSearch, accessSearch } from "./access-search.ts";

const accessRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/access",
  component: lazyRouteComponent(() => import("./access-page.tsx"), "AccessPage"),
});

const keysRoute = createRoute({
  getParentRoute: () => accessRoute,
  path: "/",
  validateSearch: (search: Record<string, unknown>): AccessSearch => accessSearch(search),
  component: lazyRouteComponent(() => import("./keys-tab.tsx"), "KeysTab"),
});

const tokensRoute = createRoute({
  getParentRoute: () => accessRoute,
  path: "/tokens",
  validateSearch: (search: Record<string, unknown>): AccessSearch => accessSearch(search),
  component: lazyRouteComponent(() => import("./tokens-tab.tsx"), "TokensTab"),
});

const sessionsRoute = createRoute({
  getParentRoute: () => accessRoute,
  path: "/sessions",
  component: lazyRouteComponent(() => import("./sessions-tab.tsx"), "SessionsTab"),
});

export const accessRoutes = [accessRoute.addChildren([keysRoute, tokensRoute, sessionsRoute])] as const;
