// The HTML controls of a world without a maze: what they do, and how they follow the state.

import { sentence } from "cogmap/connection.js";
import { fill, find, on, put } from "cogmap/elements.js";
import { degrees, end, typed } from "cogmap/world/floor.js";
import { sights, signed, tauOf, words } from "cogmap/world/state.js";

const SMALL = 128; // pixels of a picture whose pixels are to be seen
const NAMED = 12; // numbers of an observation that are told one by one
const ABOUT_FLOOR =
  "An agent moved at random here with no goal. From what it saw it learned G: how much likelier one view is to follow another after τ moves than to be seen at all. " +
  "The plan shows G of the goal from every place. Before each move the planner asks a few horizons and takes the candidate that raises the goal's likelihood most there; " +
  "of its moves the first is made. The colour of the route tells which horizon argued for a move, pale bars are candidates that lead to what was seen before on the way. " +
  "The route begins at the white dot; the ring with its field of view is the step that is looked at. The star is the goal, which is reached within the green circle if nothing is in between.";

export function bindControls(app, { journey, plane, aim }) {
  on("theme", "click", () => app.change({ dark: !app.state.dark }));
  on("horizon", "input", (box) => plane({ octave: Number(box.value) }));
  on("method", "change", (box) => plane({ method: box.value }));
  on("colour", "change", (box) => app.change({ colour: box.value === "G" ? "G" : Number(box.value) }));
  on("goal", "change", (box) => aim({ goal: box.value }));
  on("start", "change", (box) => aim({ start: box.value }));
  on("gaze", "change", (box) => plane({ gaze: box.value }));
  on("sets", "change", (box) => app.change({ sets: box.value }));
  for (const name of ["goal", "start"]) {
    on(`${name}-look`, "change", (box) => {
      const found = end(app.state[name]);
      if (found) aim({ [name]: typed(found.place, box.value === "" ? null : Number(box.value)) });
    });
  }
  on("seed", "change", (box) => aim({ seed: Math.max(0, Math.min(2 ** 31 - 1, Math.floor(Number(box.value) || 0))) }));
  on("plan", "click", () => (app.state.planning ? journey.halt() : journey.plan()));
  on("again", "click", () => aim({ seed: app.state.seed + 1 }));
  on("step", "input", (box) => {
    const step = Number(box.value); // pausing brings the slider back to the step that is shown
    journey.pause();
    journey.show(step);
  });
  on("play", "click", () => journey.play());
  on("frame", "load", (image) => image.classList.toggle("small", image.naturalWidth < SMALL));
  app.onChange((state) => sync(state, app.source));
}

/** Fills what depends on the world alone. */
export function describe({ world }) {
  fill("colour", [["G", "G of the goal"], ...world.names.map((name, k) => [k, name])]);
  put("world", "textContent", world.name);
  put("trained", "textContent", world.trained);
  put("frame-box", "hidden", !world.frames);
  for (const id of ["plan-box", "side", "along", "decision"]) put(id, "hidden", !world.plans);
  put("no-world", "hidden", world.plans);
  put("start", "hidden", world.pictures); // a picture has no words
  describeFloor(world);
  put("horizon", "max", String(world.taus.length - 1));
  const example = world.names.slice(0, 2).map((name) => `${name}>=0`).join(",") || "#0";
  put("goal", "placeholder", world.own_goals ? "the world's own" : `such as ${example}`);
  const named = world.names.length > NAMED ? "..., " + world.names.at(-1) : "";
  const numbers = `Numbers: ${[...world.names.slice(0, NAMED), named].filter(Boolean).join(", ")}. Or click a point.`;
  const place = "x,z in metres, maybe with a heading in twelfths of a turn. Or click on the plan; with Shift that sets the start.";
  put("goal-help", "textContent", world.floor ? place : world.pictures ? "Click a point." : numbers);
  put("start", "placeholder", world.floor ? "x,z,heading" : "as a reset begins");
}

/** What a building has in place of seeds, planes and colours. */
function describeFloor(world) {
  const { floor, name, methods } = world;
  const planes = [["pca", "PCA"], ["tsne", "t-SNE"]];
  fill("method", planes.filter(([method]) => methods.includes(method)));
  for (const id of ["method-line", "colour-line", "seed-line"]) put(id, "hidden", Boolean(floor));
  for (const id of ["goal-look", "start-look", "sets-line", "gaze", "goal-box"]) put(id, "hidden", !floor);
  put("label", "hidden", !floor);
  put("points-box", "hidden", Boolean(floor)); // a report has G of the best heading alone
  if (!floor) return;
  const sides = { 0: "up", 90: "left", 180: "down", 270: "right" };
  const named = (angle) => `${angle}°${sides[angle] ? `, ${sides[angle]}` : ""}`;
  const looks = Array.from({ length: floor.headings }, (_, k) => [k, `${k}: ${named(degrees(world, k))}`]);
  fill("goal-look", [["", "any heading"], ...looks]);
  fill("start-look", looks);
  fill("gaze", [["", "best of all headings"], ...looks]);
  put("points-name", "textContent", "G when looking");
  put("cloud", "ariaLabel", "Plan of the floor, with G of the goal and the route");
  put("about", "textContent", ABOUT_FLOOR);
  put("label", "textContent", `${name}. Drawn sharper than the agent sees it.`);
}

/** Brings every control in line with the state. */
function sync(state, source) {
  const { world, route, step } = state;
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  put("theme", "textContent", state.dark ? "Light" : "Dark");
  const said = state.busy || state.status;
  put("status", "textContent", said);
  put("status", "title", said);
  put("banner", "textContent", state.trouble);
  put("banner", "hidden", !state.trouble);
  if (!world) return;
  put("horizon", "value", String(state.octave));
  find("horizon")?.setAttribute("aria-valuetext", `${tauOf(state)} decisions`);
  put("tau", "textContent", `τ = ${tauOf(state)} decisions`);
  put("method", "value", state.method);
  put("colour", "value", String(state.colour));
  for (const name of ["goal", "start"]) put(name, "value", state[name]);
  put("seed", "value", String(state.seed));
  for (const name of world.floor ? ["goal", "start"] : []) {
    put(`${name}-look`, "value", String(end(state[name])?.heading ?? (name === "goal" ? "" : 0)));
  }
  put("sets", "value", state.sets);
  put("gaze", "value", state.gaze);
  put("goal-frame", "hidden", !route?.begun?.frame);
  if (route?.begun?.frame) put("goal-frame", "src", route.begun.frame);
  put("plan", "textContent", state.planning ? "Stop" : "Plan");
  const asTyped = world.floor && source.live && state.field?.goal === state.goal.trim(); // it stands above
  put("goal-read", "textContent", state.field && !asTyped ? `Towards ${readable(state.field.goal)}` : "");
  put("goal-warning", "textContent", state.field?.warning ? sentence(state.field.warning) : "");
  put("goal-warning", "hidden", !state.field?.warning);
  const row = state.hover ?? goalRow(state.goal);
  const picture = world.pictures && row !== null ? source.picture(row) : null;
  put("goal-picture", "hidden", !picture);
  if (picture) put("goal-picture", "src", picture);
  const seen = sights(route);
  put("step", "max", String(Math.max(0, seen.length - 1)));
  put("step", "value", String(step));
  put("step", "disabled", seen.length < 2);
  put("play", "disabled", seen.length < 2);
  put("play", "textContent", state.playing ? "Pause" : "Play");
  const sight = seen[Math.min(step, seen.length - 1)];
  put("frame", "hidden", !sight?.frame);
  if (sight?.frame) put("frame", "src", sight.frame);
  put("frame-name", "textContent", world.floor && sight ? `At move ${Math.min(step, seen.length - 1) + 1}` : "");
  put("reading", "textContent", sight ? reading(state, sight, seen.length) : "");
}

/** The row of the sample that a goal names, or null. */
function goalRow(text) {
  const found = /^\s*#(\d+)\s*$/.exec(text);
  return found ? Number(found[1]) : null;
}

/** Ranges without one of their ends as one would write them. */
function readable(goal) {
  return goal.replace(/ in (\S+)\.\.inf/g, " ≥ $1").replace(/ in -inf\.\.([^\s,]+)/g, " ≤ $1").replace(/ in (\S+?)\.\.(\S+)/g, " in $1 to $2");
}

/** The sight that is looked at in words. */
function reading({ world, step }, sight, count) {
  const seen = [words(world.names.slice(0, NAMED), sight.observation), sight.at_goal ? "at the goal" : ""];
  const place = `${Math.min(step, count - 1) + 1} of ${count}: ${seen.filter(Boolean).join(", ") || "on the way"}.`;
  if (sight.action === undefined) return `${place} The end.`;
  const way = world.ways[sight.candidate];
  if (way) return `${place} Chosen: ${way.name}, of which one move is made. τ = ${sight.horizon} argued for it, V = ${signed(sight.value)}.`;
  const action = sight.action.slice(0, NAMED).map((value) => signed(value)).join(", ");
  return `${place} Action ${action}: τ = ${sight.horizon} argued for it, V = ${signed(sight.value)}.`;
}
