import { call, type OperationResult } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { DeleteButton } from "../../parts/dialog.tsx";
import { RelativeTime } from "../../parts/relative-time.tsx";
import { Answer } from "../../parts/states.tsx";
import { toastError } from "../../parts/toast.tsx";
import { isHistory } from "./history.ts";
import { openSaved } from "./open-saved.ts";
import css from "./sql.module.css";

type Summary = OperationResult<"listSavedObjects">[number];

/** Queries that everybody sees, and the drafts of this key. */
export function SavedQueries() {
  const query = useOperation("listSavedObjects", {}, { pace: "slow" });
  return (
    <Answer query={query}>
      {(all) => (
        <>
          <List
            title="Saved queries"
            none="Save a query to share it."
            items={all.filter(({ kind }) => kind === "query")}
          />
          <List
            title="Your drafts"
            none="What you type is kept here."
            items={newest(
              all.filter((one) => one.kind === "draft" && !isHistory(one) && !/^New pipe from /.test(one.name)),
            )}
          />
        </>
      )}
    </Answer>
  );
}

function newest(items: readonly Summary[]): Summary[] {
  return items.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt)).slice(0, 50);
}

async function remove(savedObjectId: string): Promise<void> {
  await call("deleteSavedObject", { params: { savedObjectId } });
  await refetch("listSavedObjects");
}

type ListProps = {
  readonly title: string;
  readonly none: string;
  readonly items: readonly Summary[];
};

function List({ title, none, items }: ListProps) {
  return (
    <section aria-label={title}>
      <h2 className={`muted ${css.database}`}>{title}</h2>
      {items.length === 0 && <p className="muted">{none}</p>}
      <ul>
        {items.map((item) => (
          <li key={item.id} className={css.node}>
            <button type="button" className={`plain ${css.entry}`} onClick={() => openSaved(item.id).catch(toastError)}>
              <span className="cut">{item.name}</span>
              <span className="muted">
                {item.updatedBy} · <RelativeTime at={item.updatedAt} />
              </span>
            </button>
            <span className={css.nodeActions}>
              <DeleteButton name={item.name} onDelete={() => remove(item.id)}>
                The text cannot be brought back.
              </DeleteButton>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
