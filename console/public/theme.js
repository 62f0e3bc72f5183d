// Before the first paint, so that a page in the chosen theme never flashes in the other one.
const theme = localStorage.getItem("millrace.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
