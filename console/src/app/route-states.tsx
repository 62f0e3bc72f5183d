import { SearchX } from "lucide-react";
import { probeNow } from "../api/connection.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Page } from "../parts/page.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";

export function NotFoundPage() {
  return (
    <Page title="There is no such page">
      <EmptyState icon={SearchX} title="This address shows nothing" actions={<ButtonLink to="/">Overview</ButtonLink>}>
        The link is mistyped, or from another version of the console.
      </EmptyState>
    </Page>
  );
}

/** A screen that failed while it was drawn or loaded, for example because the server was updated meanwhile. */
export function RouteError({ error }: { readonly error: unknown }) {
  const tryAgain = async () => {
    // A page that is asked for in vain leaves nothing of this one.
    if (await probeNow()) location.reload();
  };
  return <ErrorState error={error} onRetry={() => void tryAgain()} />;
}

export function RoutePending() {
  return <Skeleton lines={6} />;
}
