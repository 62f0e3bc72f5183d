import { BookOpen, Database, Workflow } from "lucide-react";
import { ButtonLink } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import css from "./overview.module.css";

/** What to do when there is nothing yet. */
export function FirstSteps() {
  return (
    <>
      <Note>There is nothing here yet. Three steps lead from nothing to a chart of your own data.</Note>
      <div className="cells pair">
        <div className={`surface ${css.card}`}>
          <Database aria-hidden />
          <h2>1. Create a service</h2>
          <p>A ClickHouse database of its own. It sleeps while nobody asks it, and wakes in a fraction of a second.</p>
          <ButtonLink to="/services/new" look="primary">
            Create service
          </ButtonLink>
        </div>
        <div className={`surface ${css.card}`}>
          <Workflow aria-hidden />
          <h2>2. Load data</h2>
          <p>From a bucket, Kafka, Kinesis or Postgres. You see a sample and the table before anything is created.</p>
          <ButtonLink to="/new-pipe">New pipe</ButtonLink>
        </div>
        <div className={`surface ${css.card}`}>
          <BookOpen aria-hidden />
          <h2>3. Ask</h2>
          <p>In the SQL page, or with any ClickHouse client: the service's Connect button has snippets that work.</p>
          <ButtonLink to="/sql">Open SQL</ButtonLink>
        </div>
      </div>
    </>
  );
}
