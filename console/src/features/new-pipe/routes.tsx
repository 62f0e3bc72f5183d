import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";

/** The step and the draft are in the address, so that reload and Back keep them. */
const newPipeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/new-pipe",
  validateSearch: ({ step, draft, service, clone }: Record<string, unknown>) => ({
    ...(typeof step === "number" && step >= 2 && step <= 5 ? { step } : {}),
    ...(typeof draft === "string" ? { draft } : {}),
    ...(typeof service === "string" ? { service } : {}),
    // `serviceId/pipeId` of the pipe that the new one is like.
    ...(typeof clone === "string" ? { clone } : {}),
  }),
  component: lazyRouteComponent(() => import("./new-pipe-page.tsx"), "NewPipePage"),
});

export const newPipeRoutes = [newPipeRoute] as const;
