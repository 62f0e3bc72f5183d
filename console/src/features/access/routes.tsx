import { rootRoute, screen } from "../../app/root-route.tsx";
import { accessSearch } from "./access-search.ts";

const accessRoute = screen(rootRoute, "/access", () => import("./access-page.tsx"), "AccessPage");

export const accessRoutes = [
  accessRoute.addChildren([
    screen(accessRoute, "/", () => import("./keys-tab.tsx"), "KeysTab", accessSearch),
    screen(accessRoute, "/tokens", () => import("./tokens-tab.tsx"), "TokensTab", accessSearch),
    screen(accessRoute, "/sessions", () => import("./sessions-tab.tsx"), "SessionsTab"),
  ]),
] as const;
