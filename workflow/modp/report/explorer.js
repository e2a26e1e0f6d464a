"use strict";
// Called by the page when its plot stands, which moves what is below it, where a link may lead.
window.modpExplorer = (() => {
  const { byId, element } = window.modpPage;
  const cells = JSON.parse(byId("cells").textContent);
  const { questions, starts } = cells;
  const K = starts[starts.length - 1];
  const NOISE = 2;
  const STRONGEST = { z: 5, d: 0.5 };
  const OVER = [230, 130, 30], UNDER = [50, 140, 200];
  const unpacked = new Map();
  let turn = 0;

  async function unpack(text, Kind) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Kind(await new Response(stream).arrayBuffer());
  }

  // Unpacked when first asked for, then kept.
  function kept(name, make) {
    if (!unpacked.has(name)) unpacked.set(name, make());
    return unpacked.get(name);
  }
  const trueCounts = () => kept("true", () => unpack(cells.true, Uint32Array));
  const tableOf = (at) => kept(at, async () => {
    const row = cells.rows[at];
    const [synthetic, d, z] = await Promise.all([unpack(row.synthetic, Uint32Array),
      unpack(row.d.steps, Int16Array), unpack(row.z.steps, Int16Array)]);
    return { synthetic, scale: row.records ? cells.records / row.records : NaN, d: sizes(d, row.d.step), z: sizes(z, row.z.step) };
  });
  const sizes = (steps, step) => (k) => (steps[k] === -32768 ? NaN : steps[k] * step);

  // Cells i <= j of the crosstab, row by row.
  function cellNumber(one, other) {
    const i = Math.min(one, other), j = Math.max(one, other);
    return i * K - (i * (i - 1)) / 2 + j - i;
  }
  function cellPlace(k) {
    let i = 0;
    while (k >= K - i) { k -= K - i; i += 1; }
    return [i, i + k];
  }
  function category(column) {
    const q = starts.findLastIndex((start) => start <= column);
    return [q, column - starts[q]];
  }

  const count = (value) => Number.isNaN(value) ? "–" : value.toLocaleString("en", { maximumFractionDigits: value < 1000 && value % 1 ? 1 : 0 });
  function signed(value, digits) {
    if (Number.isNaN(value)) return "–";
    const size = Math.abs(value).toFixed(digits);
    return (Number(size) === 0 ? "" : value > 0 ? "+" : "−") + size;
  }
  function shade(value, by) {
    if (Number.isNaN(value)) return "#fff";
    const strength = 0.85 * Math.min(1, Math.abs(value) / STRONGEST[by]);
    const mixed = (value > 0 ? OVER : UNDER).map((part) => Math.round(255 + strength * (part - 255)));
    return `rgb(${mixed.join(",")})`;
  }

  const selects = { row: byId("row"), a: byId("a"), b: byId("b"), by: byId("by") };

  function heading(label, code, scope) {
    const head = element("th", label, { scope });
    head.append(element("span", code, { class: "code" }));
    return head;
  }

  function oneCell(k, truth, table, by) {
    const [d, z] = [table.d(k), table.z(k)];
    const box = element("td");
    box.style.background = shade(by === "z" ? z : d, by);
    const lines = [["true", count(truth[k])], ["syn", count(table.synthetic[k] * table.scale)],
      ["d", signed(d, 3)], ["z", signed(z, 1)]];
    for (const [name, value] of lines) {
      const line = element("div");
      line.append(element("i", name), element("b", value));
      box.append(line);
    }
    return box;
  }

  async function show(asked) {
    const at = Number(selects.row.value), a = Number(selects.a.value), b = Number(selects.b.value), by = selects.by.value;
    const own = ++turn;
    const [truth, table] = await Promise.all([trueCounts(), tableOf(at)]);
    // Something else was chosen while these were unpacked.
    if (own !== turn) return;
    const down = questions[a], across = questions[b], alone = a === b;
    const made = element("table");
    made.append(element("caption", alone ? `${down.name}: ${down.label}` :
      `Down: ${down.name}, ${down.label}. Across: ${across.name}, ${across.label}.`));
    const head = element("tr");
    head.append(element("td", ""));
    if (alone) head.append(element("th", "all records", { scope: "col" }));
    else across.categories.forEach(([code, label]) => head.append(heading(label, code, "col")));
    made.append(element("thead"));
    made.tHead.append(head);
    const body = element("tbody");
    let beyond = 0, total = 0;
    down.categories.forEach(([code, label], r) => {
      const line = element("tr");
      line.append(heading(label, code, "row"));
      const columns = alone ? [r] : across.categories.keys();
      for (const c of columns) {
        const i = starts[a] + r, j = starts[b] + c, k = cellNumber(i, j);
        const box = oneCell(k, truth, table, by);
        if (asked === k) { box.className = "asked"; box.tabIndex = -1; }
        total += 1;
        if (Math.abs(table.z(k)) > NOISE) beyond += 1;
        line.append(box);
      }
      body.append(line);
    });
    made.append(body);
    byId("crosstab").replaceChildren(made);
    byId("summary").textContent = `${cells.rows[at].name}: ${beyond} of ${total} cells have |z| above ${NOISE}, ` +
      `where chance alone would put about 5 in 100.`;
    showLegend(by);
    showWorst(at, truth, table);
    const box = made.querySelector(".asked");
    if (box) { box.focus({ preventScroll: true }); box.scrollIntoView({ block: "center", inline: "center" }); }
  }

  function showLegend(by) {
    const legend = byId("legend");
    const most = STRONGEST[by];
    legend.replaceChildren(...[-most, -most / 2, 0, most / 2, most].map((value) => {
      const patch = element("span", `${by} ${signed(value, by === "z" ? 1 : 2)}`);
      patch.style.background = shade(value, by);
      return patch;
    }), " Orange: more synthetic records than true ones; blue: fewer. d = ln((syn + 1) / (true + 1)) with its sign; " +
      "z is the difference in units of its chance variation. Synthetic counts are scaled to the number of true records.");
  }

  function linkTo(at, i, j) {
    const [a, r] = category(i), [b, c] = category(j);
    const asked = new URLSearchParams({ row: cells.rows[at].name, a: questions[a].name, b: questions[b].name, cell: `${r},${c}` });
    const name = (q, n) => `${questions[q].name} ${questions[q].categories[n][1]}`;
    const text = i === j ? name(a, r) : `${name(a, r)} × ${name(b, c)}`;
    return element("a", text, { href: `#${asked}` });
  }

  function showWorst(at, truth, table) {
    byId("worst-of").textContent = cells.rows[at].name;
    const made = element("table");
    const head = element("tr");
    ["cell", "true", "synthetic", "d", "z", "figure of merit"].forEach((text, n) =>
      head.append(element("th", text, { scope: "col", class: n ? "number-cell" : "" })));
    made.append(element("thead"), element("tbody"));
    made.tHead.append(head);
    for (const [k, merit] of cells.rows[at].worst) {
      const line = element("tr");
      const place = element("td");
      place.append(linkTo(at, ...cellPlace(k)));
      line.append(place);
      for (const text of [count(truth[k]), count(table.synthetic[k] * table.scale), signed(table.d(k), 3),
        signed(table.z(k), 1), merit.toFixed(2)]) line.append(element("td", text, { class: "number-cell" }));
      made.tBodies[0].append(line);
    }
    byId("worst").replaceChildren(made);
  }

  // The address says what is shown, so that a cell can be linked to.
  function follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!asked.has("a")) return false;
    const at = (list, name) => Math.max(0, list.findIndex((part) => part.name === name));
    selects.row.value = at(cells.rows, asked.get("row"));
    selects.a.value = at(questions, asked.get("a"));
    selects.b.value = at(questions, asked.get("b"));
    const [r, c] = (asked.get("cell") ?? "").split(",").map(Number);
    show(Number.isInteger(c) ? cellNumber(starts[selects.a.value] + r, starts[selects.b.value] + c) : undefined);
    return true;
  }
  function changed() {
    const asked = new URLSearchParams({ row: cells.rows[selects.row.value].name,
      a: questions[selects.a.value].name, b: questions[selects.b.value].name });
    history.replaceState(null, "", `#${asked}`);
    show();
  }

  function begin() {
    if (!("DecompressionStream" in window) || !Array.prototype.findLastIndex) {
      byId("summary").textContent = "The explorer needs a newer browser: Chrome or Edge 97, Firefox 113, Safari 16.4 or later.";
      return;
    }
    cells.rows.forEach(({ name }, n) => selects.row.append(element("option", name, { value: n })));
    for (const select of [selects.a, selects.b]) {
      questions.forEach(({ name, label }, n) => select.append(element("option", `${name}: ${label}`, { value: n })));
    }
    selects.row.value = cells.first;
    selects.b.value = Math.min(1, questions.length - 1);
    Object.values(selects).forEach((select) => select.addEventListener("change", changed));
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", follow);
    byId("controls").hidden = false;
    if (!follow()) show();
  }

  return begin;
})();
