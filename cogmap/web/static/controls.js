// The HTML controls around the canvas: what they do, and how they follow the state.

import { empty, resized } from "cogmap/editor.js";
import { fill, find, on, put } from "cogmap/elements.js";
import { LETTERS } from "cogmap/route.js";
import { FIELD_SCALES } from "cogmap/scales.js";
import { EXAMPLE, planned, plannerName, plannerTitle, shownMap, tauOf } from "cogmap/state.js";

/** What the lists of planners offer: the kind of a planner and its name for the reader. */
const PLANNERS = [
  ["gp", "GP, best horizon"],
  ["pap", "PAP, mean of horizons"],
  ["beta", "temperature"],
];

export function bindControls(app, { refresh, planning, training, horizon, showMap }) {
  on("map", "change", (box) => {
    const chosen = box.value; // a change of the state sets the list back to the map that is shown
    app.change({ note: "" });
    showMap(chosen);
  });
  on("theme", "click", () => app.change({ dark: !app.state.dark }));
  on("horizon", "input", (box) => horizon.set(Number(box.value)));
  on("play", "click", () => horizon.play());
  on("plan", "click", () => (app.state.planning ? planning.halt() : planning.plan()));
  on("prompt", "change", (box) => app.change({ prompt: box.checked }));
  on("compare", "change", (box) => {
    app.change({ compare: box.checked, inspected: null });
    planning.plan();
  });
  fill("scale", FIELD_SCALES.map((name) => [name, name]));
  for (const letter of LETTERS) {
    fill(`planner${letter}`, PLANNERS);
    const choose = (choice, again) => {
      const planners = { ...app.state.planners, [letter]: { ...app.state.planners[letter], ...choice } };
      app.change({ planners });
      if (again) planning.plan();
    };
    on(`planner${letter}`, "change", (box) => choose({ kind: box.value }, true));
    on(`beta${letter}`, "input", (box) => choose({ kind: "beta", beta: Number(box.value) }, false));
    on(`beta${letter}`, "change", () => planning.plan());
  }
  for (const view of ["exact", "difference", "embedding"]) {
    on(`show-${view}`, "change", (box) => {
      app.change({ views: { ...app.state.views, [view]: box.checked }, hover: null });
      refresh();
    });
  }
  on("method", "change", (box) => {
    app.change({ method: box.value, embedding: null });
    refresh();
  });
  on("scale", "change", (box) => app.change({ scale: box.value }));
  on("draw", "click", () => {
    const away = app.state.job ? "training" : "draw"; // a training goes on while one looks at a map
    if (app.state.planning) planning.halt();
    const mode = app.state.mode === "map" ? away : "map";
    app.change({ mode, playing: false, note: "", status: "" });
    refresh();
    find("canvas").focus({ preventScroll: true });
  });
  const size = () => {
    const { editor, map } = app.state;
    const rows = resized(editor.rows, find("columns").value, find("rows").value, map.drawing);
    app.change({ editor: { rows, cursor: [1, 1] } });
  };
  on("columns", "change", size);
  on("rows", "change", size);
  on("clear", "click", () => edit(empty(app.state.editor.rows)));
  on("example", "click", () => edit(EXAMPLE));
  const edit = (rows) => app.change({ editor: { rows, cursor: [1, 1] } });
  on("train", "click", () => training.begin());
  on("stop", "click", () => training.stop());
  app.onChange(sync);
}

/** Brings every control in line with the state. */
function sync(state) {
  const map = shownMap(state);
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  document.body.dataset.mode = state.mode;
  const rival = state.mode === "map" && state.map && !planned(state.map) ? state.map : null;
  document.body.dataset.acts = rival ? "policy" : "planner";
  document.body.dataset.colours = rival && !rival.colours ? "none" : "some";
  put("policy", "textContent", rival ? `${rival.method}: its own policy` : "");
  put("theme", "textContent", state.dark ? "Light" : "Dark");
  const words = [state.note, state.busy || state.status].filter(Boolean).join(" ");
  put("status", "textContent", words);
  put("status", "title", words);
  put("reading", "textContent", state.inspected?.candidates || (rival && state.inspected) ? state.reading : "");
  put("banner", "textContent", state.trouble);
  put("banner", "hidden", !state.trouble);
  put("trained", "textContent", state.map?.trained ?? "");
  const taus = (state.mode === "training" ? state.job?.taus : state.map?.taus) ?? [];
  put("horizon", "max", String(Math.max(0, taus.length - 1)));
  put("horizon", "value", String(Math.min(state.octave, Math.max(0, taus.length - 1))));
  find("horizon")?.setAttribute("aria-valuetext", `${tauOf(state)} moves`);
  put("tau", "textContent", `τ = ${tauOf(state)}`);
  put("play", "textContent", state.playing ? "Pause" : "Play");
  put("plan", "textContent", state.planning ? "Stop" : "Plan");
  put("compare", "checked", state.compare);
  put("prompt", "checked", state.prompt);
  put("choiceB", "hidden", !state.compare);
  put("tagA", "hidden", !state.compare);
  for (const letter of LETTERS) {
    const chosen = state.planners[letter];
    put(`planner${letter}`, "value", chosen.kind);
    put(`beta${letter}`, "value", String(betaOf(chosen)));
    const name = plannerName(chosen);
    const limits = { gp: "β = 0, GP", pap: "β = ∞, PAP" };
    const words = limits[name] ?? (chosen.kind === "beta" ? plannerTitle(name) : "");
    put(`betaValue${letter}`, "textContent", words);
    put(`betaLine${letter}`, "hidden", !words);
    find(`beta${letter}`)?.setAttribute("aria-valuetext", words || "not used");
  }
  for (const view of ["exact", "difference", "embedding"]) put(`show-${view}`, "checked", state.views[view]);
  for (const view of ["exact", "difference"]) put(`show-${view}`, "disabled", !state.map?.exact);
  put("method", "disabled", !state.views.embedding);
  const { job } = state;
  const there = job ? `Back to the training, ${phaseText(job)}` : rival ? "Draw a maze for our method" : "Draw your own maze";
  put("draw", "textContent", state.mode === "map" ? there : "Back to the map");
  for (const side of ["rows", "columns"]) {
    put(side, "min", String(state.map?.drawing.smallest ?? ""));
    put(side, "max", String(state.map?.drawing.largest ?? ""));
  }
  put("rows", "value", String(state.editor.rows.length));
  put("columns", "value", String(state.editor.rows[0].length));
  put("progress", "max", job?.of || 1);
  put("progress", "value", job?.step ?? 0);
  put("phase", "textContent", job ? phaseText(job) : "");
  syncMaps(state, map);
}

/** Where the slider of the temperature stands; GP and PAP are its ends. */
function betaOf({ kind, beta }) {
  return { gp: 0, pap: 1 }[kind] ?? beta;
}

function phaseText(job) {
  const phases = {
    exploring: "1 of 3, exploring",
    map: "2 of 3, learning the map",
    dynamics: "3 of 3, learning moves",
  };
  const share = job.step ? `, ${Math.round((100 * job.step) / job.of)} %` : "";
  return `${phases[job.phase] ?? job.phase}${share}, ${Math.round(job.seconds)} s`;
}

function syncMaps(state, map) {
  const box = find("map");
  if (!box) return;
  const wanted = state.maps.map(({ id, name }) => `${id}\n${name}`).join("\n");
  if (box.dataset.listed !== wanted) {
    box.replaceChildren(...state.maps.map(({ id, name }) => new Option(name, id)));
    box.dataset.listed = wanted;
  }
  if (map?.id) put("map", "value", map.id);
}
