"use strict";
window.modpPage = (() => {
  const byId = (id) => document.getElementById(id);
  function element(kind, text, more = {}) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(more)) made.setAttribute(name, value);
    return made;
  }
  return { byId, element };
})();

window.addEventListener("DOMContentLoaded", () => {
  const { byId, element } = window.modpPage;

  function showRun(run) {
    const made = element("table");
    const head = element("tr");
    ["step", "jobs", "seconds"].forEach((text, n) => head.append(element("th", text, { scope: "col", class: n ? "number-cell" : "" })));
    made.append(element("thead"), element("tbody"));
    made.tHead.append(head);
    for (const [step, jobs, seconds] of run.steps) {
      const line = element("tr");
      line.append(element("td", step), element("td", jobs, { class: "number-cell" }),
        element("td", seconds.toFixed(1), { class: "number-cell" }));
      made.tBodies[0].append(line);
    }
    byId("run").replaceChildren(element("p", `${run.machine}. Last step before this page ended ${run.ended} (UTC). ` +
      "Jobs ran side by side where cores allowed; each step's seconds are added up."), made);
  }

  if (window.modpRun) showRun(window.modpRun);
  Bokeh.embed.embed_item(JSON.parse(byId("points").textContent)).finally(() => window.modpExplorer?.());
});
