import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { Page, Panel } from "../../parts/page.tsx";
import { Answer, EmptyState, Skeleton } from "../../parts/states.tsx";
import { type BackupDetails, type Service, titleOf } from "./backup.ts";
import css from "./backups.module.css";
import { ProofBadge } from "./chain.tsx";
import { RestoreBegin } from "./restore-begin.tsx";
import { RestoreFields } from "./restore-fields.tsx";
import {
  type Contents,
  formOf,
  incompleteness,
  planBodyOf,
  type RestoreForm,
  type RestoreSearch,
} from "./restore-form.ts";
import { RestorePlan } from "./restore-plan.tsx";

const route = getRouteApi("/backups/$serviceId/$backupId/restore");

/** What to restore, and what that would do, before it begins. */
export function RestorePage() {
  const params = route.useParams();
  const backup = useOperation("getBackup", { params });
  const mayPlan = useMay("developer");
  return (
    <Answer query={backup}>
      {(details) => (
        <Page
          title={`Restore the backup of ${titleOf(details)}`}
          badge={<ProofBadge backup={details} />}
          below={
            <Link to="/backups/$serviceId/$backupId" params={params}>
              What is proven of this backup
            </Link>
          }
        >
          {mayPlan ? <Contained backup={details} /> : <MayNot />}
        </Page>
      )}
    </Answer>
  );
}

function MayNot() {
  return (
    <Panel>
      <EmptyState title="This key may not restore">
        Planning a restore needs the role developer, beginning it the role admin.
      </EmptyState>
    </Panel>
  );
}

/** Loads what the backup contains: the plan for everything lists it. */
function Contained({ backup }: { readonly backup: BackupDetails }) {
  const params = { serviceId: backup.serviceId, backupId: backup.id };
  const contents = useOperation("planRestore", { params, body: { restorePipes: "stopped" } }, { pace: "never" });
  const services = useOperation("listServices", {});
  return (
    <Answer query={services}>
      {(existing) => (
        <Answer query={contents}>
          {({ tables }) => <Restoring backup={backup} services={existing} contents={tables} />}
        </Answer>
      )}
    </Answer>
  );
}

type RestoringProps = {
  readonly backup: BackupDetails;
  readonly services: readonly Service[];
  readonly contents: Contents;
};

function Restoring({ backup, services, contents }: RestoringProps) {
  const navigate = route.useNavigate();
  const initial = route.useSearch();
  const [chosen, setChosen] = useState<RestoreSearch>(initial);
  const own = services.find(({ id }) => id === backup.serviceId);
  const name = `${own?.name ?? "service"} restored`.slice(0, 50);
  const form = formOf(chosen, contents, { target: own?.id ?? services[0]?.id ?? "", name });
  const change = (next: RestoreSearch) => {
    const all = { ...chosen, ...next };
    setChosen(all);
    void navigate({ search: all, replace: true, resetScroll: false });
  };
  return (
    <div className={css.restore}>
      <Panel title="What to restore">
        <RestoreFields form={form} contents={contents} services={services} onChange={change} />
      </Panel>
      <Planned backup={backup} form={form} services={services} />
    </div>
  );
}

type PlannedProps = {
  readonly backup: BackupDetails;
  readonly form: RestoreForm;
  readonly services: readonly Service[];
};

const title = "What will happen";

function Planned({ backup, form, services }: PlannedProps) {
  const [force, setForce] = useState(false);
  const settled = useSettled(form);
  const reason = incompleteness(form);
  const input = { params: { serviceId: backup.serviceId, backupId: backup.id }, body: planBodyOf(settled, force) };
  const query = useOperation("planRestore", input, { pace: "never", keep: true, enabled: reason === undefined });
  if (reason !== undefined) {
    return (
      <Panel title={title}>
        <EmptyState title="Not complete yet">{reason}</EmptyState>
      </Panel>
    );
  }
  return (
    <Panel title={title}>
      <Answer query={query} loading={<Skeleton lines={6} />}>
        {(plan) => (
          <>
            <RestorePlan {...{ form, plan, services }} source={backup.serviceId} />
            <RestoreBegin
              {...{ backup, form, services, force }}
              problems={plan.problems}
              isCurrent={settled === form && !query.isPlaceholderData && !query.isFetching}
              onForce={setForce}
            />
          </>
        )}
      </Answer>
    </Panel>
  );
}

const pauseMs = 300;

/** The value of the last pause: it follows when nothing has changed for 300 ms. Values are compared as JSON. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  const isSettled = text === JSON.stringify(settled);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the value
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return isSettled ? value : settled;
}
