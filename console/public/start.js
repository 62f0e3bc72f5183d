// Runs before the first paint and before the program is loaded.
// A page in the chosen theme must never flash in the other one.
const theme = localStorage.getItem("millrace.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

// The first answers are asked for while the program loads; src/api/early.ts takes them. A sign-in link asks for itself.
if (!location.hash.startsWith("#login=")) {
  const ask = (path) => fetch(path, { headers: { "x-millrace-console": "1" } });
  const answers = new Map();
  globalThis.millraceEarly = answers;
  // What these screens ask first: lists of the organization, or paths.
  const lists = {
    "/console": ["services", "pipes?limit=1000&sort=rowsPerSecond&order=desc"],
    "/console/sql": ["services"],
    "/console/explore": ["/api/v2/sources"],
  };
  const wanted = lists[location.pathname.replace(/\/$/, "")] ?? [];
  const askLists = ({ result }) => {
    for (const list of wanted) {
      const path = list.startsWith("/") ? list : `/v1/organizations/${result.organization.id}/${list}`;
      answers.set(path, ask(path));
    }
  };
  const askSession = async () => {
    const response = await ask("/console/session");
    // Before the program has this answer: it would ask for the lists itself.
    if (response.ok) askLists(await response.clone().json());
    return response;
  };
  answers.set("/console/session", askSession());
}
