import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { useOperation } from "../../api/queries.ts";
import { fieldsOf } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { named, Select } from "../../parts/select.tsx";
import { Answer } from "../../parts/states.tsx";
import type { StepProps } from "./step-props.ts";

/** The service that gets the rows; chosen already if there is only one. */
export function ServiceChoice({ form, change }: Pick<StepProps, "form" | "change">) {
  const services = useOperation("listServices", {}, { pace: "slow" });
  const field = fieldsOf({ form, onChange: change });
  const only = services.data?.length === 1 ? services.data[0]?.id : undefined;
  useEffect(() => {
    if (only !== undefined && form.serviceId === "") change({ serviceId: only });
  }, [only, form.serviceId, change]);
  return (
    <Answer query={services}>
      {(list) =>
        list.length === 0 ? (
          <Note>
            There is no service yet, whose tables could get the rows. <Link to="/services/new">Create a service</Link>,
            then come back: what is typed here is kept.
          </Note>
        ) : (
          <div className="cells pair">
            <Select
              label="Service"
              hint="Its tables get the rows"
              {...field("serviceId")}
              options={[{ value: "", label: "Choose a service" }, ...named(list)]}
            />
          </div>
        )
      }
    </Answer>
  );
}
