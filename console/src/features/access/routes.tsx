import { createRoute } from "@tanstack/react-router";
import { rootRoute, screen } from "../../app/root-route.tsx";
import { accessSearch } from "./access-search.ts";

const accessRoute = createRoute({ ...screen(rootRoute, "/access", () => import("./access-page.tsx"), "AccessPage") });

const keysRoute = createRoute({
  ...screen(accessRoute, "/", () => import("./keys-tab.tsx"), "KeysTab"),
  validateSearch: accessSearch,
});

const tokensRoute = createRoute({
  ...screen(accessRoute, "/tokens", () => import("./tokens-tab.tsx"), "TokensTab"),
  validateSearch: accessSearch,
});

const sessionsRoute = createRoute({
  ...screen(accessRoute, "/sessions", () => import("./sessions-tab.tsx"), "SessionsTab"),
});

export const accessRoutes = [accessRoute.addChildren([keysRoute, tokensRoute, sessionsRoute])] as const;
