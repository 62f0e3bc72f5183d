import { useOperation } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { Answer, Skeleton } from "../../parts/states.tsx";
import { AttentionPanel } from "./attention-panel.tsx";
import { EventsPanel } from "./events-panel.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { InflowPanel } from "./inflow-panel.tsx";
import { Numbers } from "./numbers.tsx";
import css from "./overview.module.css";
import { PipesPanel } from "./pipes-panel.tsx";

/** Is everything all right? */
export function OverviewPage() {
  const services = useOperation("listServices", {});
  const pipes = useOperation("listAllPipes", { query: { limit: 1000, sort: "rowsPerSecond", order: "desc" } });
  return (
    <Page title="Overview">
      <Answer query={services} loading={<Skeleton lines={8} />}>
        {(foundServices) => (
          <Answer query={pipes} loading={<Skeleton lines={8} />}>
            {(foundPipes) =>
              foundServices.length === 0 ? (
                <FirstSteps />
              ) : (
                <>
                  <Numbers services={foundServices} pipes={foundPipes.pipes} />
                  <div className={css.columns}>
                    <div className="column">
                      <AttentionPanel services={foundServices} pipes={foundPipes.pipes} />
                      <InflowPanel pipes={foundPipes.pipes} />
                      <PipesPanel pipes={foundPipes.pipes} />
                    </div>
                    <EventsPanel />
                  </div>
                </>
              )
            }
          </Answer>
        )}
      </Answer>
    </Page>
  );
}
