// Runs before the first paint and before the program is loaded.
// A page in the chosen theme must never flash in the other one.
const theme = localStorage.getItem("millrace.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

// The first answers are asked for while the program loads; src/api/early.ts takes them. A sign-in link asks for itself.
if (!location.hash.startsWith("#login=")) {
  const ask = (path) => fetch(path, { headers: { "x-millrace-console": "1" } });
  const answers = new Map();
  globalThis.millraceEarly = answers;
  const askOverview = ({ result }) => {
    const organization = `/v1/organizations/${result.organization.id}`;
    for (const list of ["services", "pipes?limit=1000&sort=rowsPerSecond&order=desc"])
      answers.set(`${organization}/${list}`, ask(`${organization}/${list}`));
  };
  const askSession = async () => {
    const response = await ask("/console/session");
    // Before the program has this answer: it would ask for the lists itself.
    if (response.ok && /^\/console\/?$/.test(location.pathname)) askOverview(await response.clone().json());
    return response;
  };
  answers.set("/console/session", askSession());
}
