"use strict";
// What the pages do once they are shown. Texts from the server go into the page as text; markup comes only from covey.

const byId = (id) => document.getElementById(id);
const page = document.body.dataset.page;

/** An element with attributes and children; a text is only ever text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Ask the server; what is wrong is thrown as one sentence. */
async function ask(path, body) {
  const request = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try { answer = await fetch(path, request); } catch (_) { throw new Error("covey ui does not answer; is it still running?"); }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error || `the server answered ${answer.status}`);
  return found;
}

function say(text) { const place = byId("said"); if (place) place.textContent = text; }

/** Call once after things have been quiet for a while. */
function later(what, wait = 180) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(what, wait); };
}

const size = (count) => {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (count < 1000) return unit === "B" ? `${count} B` : `${count.toFixed(1)} ${unit}`;
    count /= 1000;
  }
  return `${count.toFixed(1)} TB`;
};
const score = (value) => (value === null || value === undefined ? "" : value.toFixed(3));

/** Figures in a row: a number and what it is. */
function figures(place, pairs) {
  place.replaceChildren(make("ul", { class: "figure-row" }, ...pairs.map(([value, text]) => make("li", {}, make("b", {}, value), make("span", {}, text)))));
}

/** Live news of the store; the browser connects again by itself. */
function listen(handlers) {
  const source = new EventSource("/api/live");
  for (const [kind, handle] of Object.entries(handlers)) source.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
  addEventListener("pagehide", () => source.close());
}

// --- runs

function runsPage() {
  const body = byId("runs");
  const rows = new Map();
  const chosen = new Set();
  let shown = 100;
  let ready = false;

  function rowOf(run) {
    if (run.damage !== undefined) {
      return make("tr", { "data-run": run.name }, make("td"), make("th", { scope: "row" }, run.name), make("td", { class: "bad" }, run.status), make("td", { colspan: 7 }, run.damage));
    }
    const box = make("input", { type: "checkbox", name: "run", value: run.name, "aria-label": `choose ${run.name}` });
    box.checked = chosen.has(run.name);
    const progress = run.status === "running" ? make("progress", { value: run.round, max: run.rounds || 1, "aria-label": `rounds of ${run.name}` }) : null;
    return make("tr", { "data-run": run.name },
      make("td", {}, box),
      make("th", { scope: "row" }, make("a", { href: `/run/${encodeURIComponent(run.name)}` }, run.name), ...run.tags.map((text) => make("span", { class: "tag" }, text))),
      make("td", { class: `is-${run.status}` }, run.status),
      make("td", {}, run.algorithm), make("td", {}, run.data),
      make("td", { class: "number" }, progress, `${run.round}/${run.rounds}`),
      make("td", { class: "number" }, score(run.accuracy)), make("td", { class: "number" }, score(run.own_accuracy)),
      make("td", { class: "number" }, size(run.traffic_bytes || 0)), make("td", { class: "nowrap" }, run.started));
  }

  function wanted() {
    const text = byId("search").value.trim().toLowerCase();
    const status = byId("status").value;
    const algorithm = byId("algorithm").value;
    const found = [];
    for (const run of rows.values()) {
      if (status !== "all" && run.status !== status) continue;
      if (algorithm !== "all" && run.algorithm !== algorithm) continue;
      if (text && !`${run.name} ${run.algorithm} ${run.data} ${(run.tags || []).join(" ")} ${run.note || ""}`.toLowerCase().includes(text)) continue;
      found.push(run);
    }
    return found;
  }

  function draw() {
    if (!ready || !body) return;
    const found = wanted();
    body.replaceChildren(...found.slice(0, shown).map(rowOf));
    byId("more").hidden = found.length <= shown;
    byId("count").textContent = found.length === rows.size ? `${rows.size.toLocaleString("en")} runs` : `${found.length.toLocaleString("en")} of ${rows.size.toLocaleString("en")} runs`;
  }

  function take(changed) {
    if (!body) { if (changed.length) location.reload(); return; }
    if (!ready) {
      for (const run of changed) rows.set(run.name, run);
      ready = true;
      return; // what the server sent is what is shown
    }
    const fresh = changed.filter((run) => !rows.has(run.name));
    for (const run of changed) if (rows.has(run.name)) rows.set(run.name, run);
    if (fresh.length) { // the latest first
      const old = [...rows];
      rows.clear();
      for (const run of fresh) rows.set(run.name, run);
      for (const [name, run] of old) rows.set(name, run);
      draw();
      return;
    }
    for (const run of changed) {
      const row = body.querySelector(`tr[data-run="${CSS.escape(run.name)}"]`);
      if (row) row.replaceWith(rowOf(run));
    }
  }

  byId("filters").addEventListener("input", later(() => { shown = 100; draw(); }, 60));
  byId("more").addEventListener("click", () => { shown += 100; draw(); });
  if (body) body.addEventListener("change", (event) => {
    if (event.target.name !== "run") return;
    if (event.target.checked) chosen.add(event.target.value); else chosen.delete(event.target.value);
    byId("compare").disabled = !chosen.size;
    byId("compare").textContent = chosen.size ? `Compare ${chosen.size} chosen` : "Compare chosen";
  });
  byId("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    if (chosen.size) location.href = `/compare?${[...chosen].map((run) => `run=${encodeURIComponent(run)}`).join("&")}`;
  });
  listen({ runs: take, gone: (names) => { names.forEach((name) => rows.delete(name)); draw(); } });
}

// --- one run, or several side by side

function runPage() {
  const names = JSON.parse(document.body.dataset.runs);
  const query = names.map((run) => `run=${encodeURIComponent(run)}`).join("&");
  const status = byId("status");

  async function details() {
    try { byId("details").innerHTML = (await ask(`/api/details?${query}`)).html; } catch (error) { byId("details").replaceChildren(make("p", { class: "missing" }, error.message)); }
  }
  const curves = later(async () => {
    const over = document.querySelector("input[name=over]:checked")?.id;
    try {
      byId("curves").innerHTML = (await ask(`/api/curves?${query}`)).html;
      if (over && byId(over)) byId(over).checked = true;
    } catch (error) { say(error.message); }
  }, 300);

  let first = true;
  let known = "";
  listen({
    runs: (changed) => {
      const mine = changed.filter((run) => names.includes(run.name));
      if (!mine.length) return;
      if (status) {
        const [run] = mine;
        status.textContent = run.status;
        status.className = `is-${run.status}`;
        byId("progress").value = run.round;
        byId("round").textContent = `round ${run.round} of ${run.rounds}`;
        document.querySelector("[data-act=stop]").hidden = run.status !== "running";
        document.querySelector("[data-act=resume]").hidden = run.status === "running" || run.status === "finished";
        if (known === "running" && run.status !== "running") details();
        known = run.status;
      }
      if (!first) curves();
      first = false;
    },
    jobs: (jobs) => { for (const job of jobs) if (names.includes(job.run) && job.error) say(job.error); },
  });
  for (const button of document.querySelectorAll("[data-act]")) {
    button.addEventListener("click", async () => {
      say("");
      try { await ask(`/api/${button.dataset.act}`, { run: button.dataset.run }); } catch (error) { say(error.message); }
    });
  }
  details();
}

// --- groups

function groupsPage() {
  let csv = null;
  let turn = 0;
  const whole = (id) => (byId(id).value === "" ? null : Number(byId(id).value));

  async function regroup() {
    const mine = ++turn;
    const within = { "within edges": true, "across edges": false }[byId("within").value];
    const asked = {
      csv, method: byId("method").value, groups: whole("groups"), min_size: whole("min-size"), max_size: whole("max-size"),
      within_edges: within === undefined ? null : within, seed: whole("seed") || 0,
      fleet: { clients: whole("clients") || 50, partition: byId("partition").value, edges: whole("edges") || 1, seed: whole("fleet-seed") || 0 },
    };
    byId("after").classList.add("busy");
    try {
      const found = await ask("/api/group", asked);
      if (mine !== turn) return; // something newer was asked for
      say("");
      show(found);
    } catch (error) { if (mine === turn) say(error.message); } finally { if (mine === turn) byId("after").classList.remove("busy"); }
  }

  function show(found) {
    const f = found.figures;
    byId("before").innerHTML = found.before;
    byId("after").innerHTML = found.after;
    figures(byId("figures"), [
      [String(f.groups), `groups of ${f.sizes.min} to ${f.sizes.max}`],
      [`${found.cov_before.toFixed(2)} → ${f.cov.toFixed(2)}`, "CoV of clients → of groups; 0 is even"],
      [f.emd.toFixed(3), "EMD"], [f.kl.toFixed(3), "KL divergence"], [f.cpd.toFixed(4), "CPD"],
      ...(f.crossing === undefined ? [] : [[String(f.crossing), "groups across edges"]]),
      [String(f.left_out), "clients left out"], [`${(1000 * f.seconds).toFixed(0)} ms`, "to group"],
      ...(found.cost ? [[`${found.cost.seconds.toPrecision(3)} s`, "secure aggregation, all clients"]] : []),
    ]);
    cost(found.cost);
    byId("members").replaceChildren(...found.groups.map((names) => make("li", {}, names.join(", "))));
  }

  function cost(found) {
    const place = byId("cost");
    place.replaceChildren();
    if (!found || !found.by_min_size.length) return;
    const rows = found.by_min_size.map((row) => make("tr", {}, make("th", { scope: "row" }, String(row.min_size), row.min_size === found.min_size ? " (best buy)" : ""), make("td", {}, String(row.groups)), make("td", {}, row.cov.toFixed(3)), make("td", {}, `${row.seconds.toPrecision(3)} s`)));
    const head = make("tr", {}, ...["least clients a group", "groups", "CoV", "secure aggregation"].map((text) => make("th", { scope: "col" }, text)));
    const table = make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows));
    place.append(make("section", { class: "card" }, make("h2", {}, "What larger groups cost"), make("p", { class: "soft" }, "Larger groups are more even, but secure aggregation takes longer in them. The best buy gets most evenness for its seconds."), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What larger groups cost" }, table)));
  }

  const soon = later(regroup);
  byId("playground").addEventListener("input", (event) => { if (event.target.id !== "csv") soon(); });
  byId("playground").addEventListener("submit", (event) => { event.preventDefault(); regroup(); });
  byId("csv").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (file.size > 4_000_000) { turn += 1; byId("after").classList.remove("busy"); say(`${file.name} has ${size(file.size)}; at most 4 MB can be loaded here, and covey group takes any`); return; }
    csv = await file.text();
    byId("built").hidden = true;
    byId("builtin").hidden = false;
    regroup();
  });
  byId("builtin").addEventListener("click", () => {
    csv = null;
    byId("csv").value = "";
    byId("built").hidden = false;
    byId("builtin").hidden = true;
    regroup();
  });
  regroup();
}

// --- plans

function planPage() {
  const kinds = { train: "clients that train", star: "Star: start alike, then meet", ring: "Ring: one after another", mesh: "Mesh: mix with neighbours", forest: "Forest: each on its own" };
  let tree = JSON.parse(document.querySelector("[data-preset]").dataset.preset);
  let turn = 0;

  function control(label, element, change) {
    element.addEventListener("change", () => { change(element); draw(); });
    return make("label", { class: "field" }, make("span", {}, label), element);
  }
  function choose(node, key, options, usual) {
    const element = make("select", {}, ...Object.entries(options).map(([value, text]) => make("option", { value, selected: (node[key] ?? usual) === value }, text)));
    return [element, (e) => { node[key] = e.value; }];
  }
  function number(node, key, usual) {
    const element = make("input", { type: "number", min: 1, value: node[key] ?? usual });
    return [element, (e) => { node[key] = Math.max(1, Math.round(Number(e.value) || 1)); }];
  }

  function editor(node, parent) {
    const parts = [control("what", ...choose(node, "kind", kinds, "star"))];
    if (parent) parts.push(control(node.kind === "train" ? "clients" : "how many", ...number(node, "times", 1)));
    if (node.kind === "star") {
      parts.push(control("meet at", ...choose(node, "at", { cloud: "the cloud", edge: "an edge server", head: "their first client" }, "cloud")));
      parts.push(control("rounds", ...number(node, "rounds", 1)));
    }
    if (node.kind === "mesh") parts.push(control("neighbours", ...choose(node, "links", { ring: "the next ones", all: "everybody" }, "ring")));
    const buttons = [];
    if (node.kind !== "train") {
      const add = make("button", { type: "button" }, "Add inside");
      add.addEventListener("click", () => { (node.children ||= []).push({ kind: "train", times: 5 }); draw(); });
      buttons.push(add);
    }
    if (parent) {
      const remove = make("button", { type: "button", "aria-label": `Remove ${node.kind}` }, "Remove");
      remove.addEventListener("click", () => { parent.children.splice(parent.children.indexOf(node), 1); draw(); });
      buttons.push(remove);
    }
    const inside = node.kind === "train" ? [] : (node.children || []).map((child) => editor(child, node));
    return make("fieldset", {}, make("legend", {}, node.kind === "train" ? "Train" : node.kind[0].toUpperCase() + node.kind.slice(1)), make("div", { class: "row" }, ...parts, ...buttons), ...inside);
  }

  const clean = (node) => {
    const kept = { kind: node.kind, times: node.times ?? 1 };
    if (node.kind === "star") { kept.at = node.at ?? "cloud"; kept.rounds = node.rounds ?? 1; }
    if (node.kind === "mesh") kept.links = node.links ?? "ring";
    if (node.kind !== "train") kept.children = (node.children || []).map(clean);
    return kept;
  };

  async function price() {
    const mine = ++turn;
    const asked = { plan: { ...clean(tree), times: 1 }, network: byId("network").value, link: byId("link").value, device: byId("device").value, samples: Number(byId("samples").value), parameters: Number(byId("parameters").value) };
    try {
      const found = await ask("/api/plan", asked);
      if (mine !== turn) return;
      say("");
      byId("sketch").textContent = found.sketch;
      byId("drawing").innerHTML = found.drawing;
      byId("timeline").innerHTML = found.timeline;
      if (found.network === null) byId("network-load").textContent = "The network has too many links to draw.";
      else byId("network-load").innerHTML = found.network;
      const p = found.price;
      figures(byId("price"), [
        [`${p.seconds_per_round.toPrecision(3)} s`, "a round"], [`${p.compute_seconds.toPrecision(3)} s`, "of computing"],
        [`${p.group_seconds.toPrecision(3)} s`, "of transfers in groups"], [`${p.global_seconds.toPrecision(3)} s`, "of other transfers"],
        [size(found.bytes), "sent"], [String(found.trainings), `trainings by ${found.clients} clients`], [`${p.joules.toPrecision(3)} J`, "of clients' energy"],
        ...Object.entries(found.transfers).map(([tier, count]) => [String(count), `models ${tier}`]),
      ]);
    } catch (error) { if (mine === turn) say(error.message); }
  }
  const soon = later(price, 120);
  function draw() {
    byId("editor").replaceChildren(editor(tree, null));
    soon();
  }
  for (const button of document.querySelectorAll("[data-preset]")) button.addEventListener("click", () => { tree = JSON.parse(button.dataset.preset); draw(); });
  byId("site").addEventListener("input", soon);
  byId("site").addEventListener("submit", (event) => event.preventDefault());
  draw();
}

// --- a new run

function newPage() {
  byId("start").addEventListener("submit", async (event) => {
    event.preventDefault();
    say("");
    const settings = {};
    for (const id of ["data", "partition", "model", "network"]) if (byId(id).value.trim()) settings[id] = byId(id).value.trim();
    for (const id of ["clients", "rounds", "lr", "seed"]) if (byId(id).value !== "") settings[id] = Number(byId(id).value);
    for (const line of byId("more-settings").value.split("\n").filter((text) => text.trim())) {
      const [key, ...value] = line.split("=");
      settings[key.trim()] = value.join("=").trim();
    }
    const name = byId("name").value.trim() || null;
    try {
      const { run } = await ask("/api/start", { algorithm: byId("algorithm").value.trim(), name, settings });
      byId("started").replaceChildren(make("p", {}, "Starting ", make("b", {}, run), "; it is shown as soon as it has begun …"));
      waiting = run;
    } catch (error) { say(error.message); }
  });
  let waiting = null;
  listen({
    runs: (changed) => { if (waiting && changed.some((run) => run.name === waiting)) location.href = `/run/${encodeURIComponent(waiting)}`; },
    jobs: (jobs) => { for (const job of jobs) if (job.run === waiting && job.error) { say(job.error); byId("started").replaceChildren(); waiting = null; } },
  });
}

({ "/": runsPage, "/run": runPage, "/groups": groupsPage, "/plan": planPage, "/new": newPage })[page]?.();
