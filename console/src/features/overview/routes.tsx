import { createRoute } from "@tanstack/react-router";
import { rootRoute } from "../../app/root-route.tsx";
import { OverviewPage } from "./overview-page.tsx";

/** The first page of most visits is a part of the first file. */
const overviewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  component: OverviewPage,
});

export /** The first page of most visits is a part of the first file. */
const overviewRoutes = [overviewRoute] as const;
