import { X } from "lucide-react";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { activityWords } from "../../lib/activity-words.ts";
import { Button } from "../../parts/button.tsx";
import { fieldsOf } from "../../parts/field.tsx";
import { InlineSelect } from "../../parts/select.tsx";
import { NavTabs } from "../../parts/tabs.tsx";
import css from "./activity.module.css";
import { type ActivitySearch, groups, ranges } from "./activity-search.ts";

type FiltersProps = { readonly search: ActivitySearch; readonly onChange: (next: ActivitySearch) => void };
type Option = { readonly value: string; readonly label: string };

export function ActivityFilters({ search, onChange }: FiltersProps) {
  const objects = useObjects();
  const actors = useActors();
  const field = fieldsOf({ form: search, onChange });
  return (
    <div className={`row ${css.filters}`}>
      <InlineSelect
        label="Kind"
        value={search.group}
        all="Everything"
        options={groups}
        onChange={(group) => onChange({ group, type: "" })}
      />
      <InlineSelect label="Object" {...field("object")} all="Any object" options={objects} />
      <InlineSelect label="Who" {...field("actor")} all="Anybody" options={actors} />
      <InlineSelect label="Range" {...field("range")} all="Any time" options={ranges} />
      {search.type !== undefined && (
        <Button small icon={X} onClick={() => onChange({ type: "" })}>
          Only “{activityWords(search.type)}”
        </Button>
      )}
    </div>
  );
}

function useObjects(): readonly Option[] {
  const services = useOperation("listServices", {}, { pace: "slow" }).data ?? [];
  const pipes = useOperation("listAllPipes", { query: { limit: 1000 } }, { pace: "slow" }).data?.pipes ?? [];
  return [
    ...services.map(({ id, name }) => ({ value: id, label: `Service ${name}` })),
    ...pipes.map(({ id, name }) => ({ value: id, label: `Pipe ${name}` })),
  ];
}

/** Only admins know the keys. */
export function useKeys() {
  return useOperation("listKeys", {}, { pace: "slow", enabled: useMay("admin") }).data ?? [];
}

function useActors(): readonly Option[] {
  const keys = useKeys().map(({ id, name }) => ({ value: id, label: `Key ${name}` }));
  return [{ value: "system", label: "Millrace itself" }, ...keys];
}

export function ActivityTabs() {
  return (
    <NavTabs
      label="Activity"
      tabs={[
        { to: "/activity", label: "Changes" },
        { to: "/activity/logins", label: "Logins and refusals" },
      ]}
    />
  );
}
