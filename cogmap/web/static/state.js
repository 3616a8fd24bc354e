// All that the page knows, in one object. It is changed through app.change, which redraws.

export const LOWEST = -8; // scores below this say "far" and no more

export const EXAMPLE = [
  "#########",
  "#...#...#",
  "#.#...#.#",
  "#.#.#.#.#",
  "#...#...#",
  "#########",
];

export function initialState() {
  return {
    mode: "map", // map, draw or training
    dark: false,
    calm: false, // the reader asked for little motion
    scale: "viridis",
    maps: [], // {id, name} of every map there is
    map: null, // the one shown (geometry.prepared)
    start: [0, 0],
    goal: [0, 0],
    octave: 0, // index into map.taus
    playing: false,
    views: { exact: true, difference: false, embedding: false },
    fields: { learned: null, exact: null }, // {tau, goal, values}
    method: "pca",
    embedding: null, // {tau, method, points}
    planners: { A: { kind: "gp", beta: 0.5 }, B: { kind: "pap", beta: 0.5 } }, // beta: slider, 0..1
    compare: false,
    prompt: true, // plan again when start or goal have moved
    routes: { A: null, B: null }, // see planning.js
    planning: false,
    inspected: null, // {route, step, pinned, candidate, candidates}
    hover: null, // {state} the lattice point under the pointer
    dragging: null, // "start" or "goal"
    draggedIn: null, // the pane in which it is dragged
    editor: { rows: EXAMPLE, cursor: [1, 1] },
    task: 0, // which route of a report
    curve: null, // its loss, {step, loss}
    job: null, // a training (messages.Job)
    jobMap: null, // the drawn map while it is trained
    jobGoal: [0, 0],
    jobField: null,
    status: "", // what happened last
    note: "", // what became of the last click on a wall
    busy: "", // what the page is waiting for
    reading: "", // the inspected decision in words
    trouble: "", // the server has stopped
  };
}

export function createApp(source, state = initialState()) {
  const listeners = [];
  const app = {
    source,
    state,
    /** Changes fields of the state and has everything that depends on it drawn anew. */
    change(patch) {
      Object.assign(app.state, patch);
      for (const listener of listeners) listener(app.state);
    },
    say: (status) => app.change({ status }),
    onChange: (listener) => listeners.push(listener),
  };
  return app;
}

/** The map that the panes show: the trained one, or the one that is being trained. */
export function shownMap(state) {
  return state.mode === "training" ? state.jobMap : state.map;
}

/** Whether planners weigh candidates on a map, horizon by horizon; if not, a policy acts alone. */
export function planned(map) {
  return map.candidates > 0;
}

/** The horizon that is shown; null where the method knows none. */
export function tauOf(state) {
  if (state.mode === "map" && state.map && !state.map.taus.length) return null;
  const taus = state.mode === "training" ? state.job?.taus ?? [] : state.map?.taus ?? [];
  return taus[Math.min(state.octave, taus.length - 1)] ?? 1;
}

/** What a planner is called in a request. */
export function plannerName({ kind, beta }) {
  if (kind !== "beta") return kind;
  if (beta <= 0) return "gp";
  if (beta >= 1) return "pap";
  return `beta=${temperature(beta)}`;
}

/** The temperature at a position of the slider: 0.001 to 1000 between its ends. */
export function temperature(beta) {
  return Number((10 ** (6 * beta - 3)).toPrecision(2));
}

/** What a planner is called on the page. */
export function plannerTitle(name) {
  const known = { gp: "GP", pap: "PAP" };
  return known[name] ?? name.replace("beta=", "β = ");
}

export function number(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 0.001) return value.toExponential(1).replace("e+", "e").replace(".0", "");
  if (size >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(digits)));
}
