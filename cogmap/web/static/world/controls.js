// The HTML controls of a world without a maze: what they do, and how they follow the state.

import { fill, find, on, put } from "cogmap/elements.js";
import { number } from "cogmap/state.js";
import { sights, tauOf, words } from "cogmap/world/state.js";

export function bindControls(app, { journey, plane, aim }) {
  on("theme", "click", () => app.change({ dark: !app.state.dark }));
  on("horizon", "input", (box) => plane({ octave: Number(box.value) }));
  on("method", "change", (box) => plane({ method: box.value }));
  on("colour", "change", (box) => app.change({ colour: box.value === "G" ? "G" : Number(box.value) }));
  on("goal", "change", (box) => aim({ goal: box.value }));
  on("start", "change", (box) => aim({ start: box.value }));
  on("seed", "change", (box) => aim({ seed: Math.max(0, Math.min(2 ** 31 - 1, Math.floor(Number(box.value) || 0))) }));
  on("plan", "click", () => (app.state.planning ? journey.halt() : journey.plan()));
  on("again", "click", () => aim({ seed: app.state.seed + 1 }));
  on("step", "input", (box) => {
    journey.pause();
    journey.show(Number(box.value));
  });
  on("play", "click", () => journey.play());
  app.onChange(sync);
}

/** Fills what depends on the world alone. */
export function describe({ world }) {
  fill("colour", [["G", "G of the goal"], ...world.names.map((name, k) => [k, name])]);
  put("world", "textContent", world.name);
  put("trained", "textContent", world.trained);
  put("frame-box", "hidden", !world.frames);
  put("plan-box", "hidden", !world.plans);
  put("horizon", "max", String(world.taus.length - 1));
  const first = world.names.slice(0, 2).map((name) => `${name}>=0`).join(",");
  put("goal", "placeholder", world.own_goals ? "the world's own" : `such as ${first}`);
  put("goal-help", "textContent", `Numbers: ${world.names.slice(0, 12).join(", ")}. Or click a point.`);
  put("start", "placeholder", "as a reset begins");
}

/** Brings every control in line with the state. */
function sync(state) {
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
  put("plan", "textContent", state.planning ? "Stop" : "Plan");
  put("goal-read", "textContent", state.field ? `Towards ${state.field.goal}` : "");
  const seen = sights(route);
  put("step", "max", String(Math.max(0, seen.length - 1)));
  put("step", "value", String(step));
  put("step", "disabled", seen.length < 2);
  put("play", "disabled", seen.length < 2);
  put("play", "textContent", state.playing ? "Pause" : "Play");
  const sight = seen[Math.min(step, seen.length - 1)];
  put("frame", "hidden", !sight?.frame);
  if (sight?.frame) put("frame", "src", sight.frame);
  put("reading", "textContent", sight ? reading(state, sight, seen.length) : "");
}

/** The sight that is looked at in words. */
function reading({ world, step }, sight, count) {
  const seen = words(world.names.slice(0, 12), sight.observation, number);
  const place = `${Math.min(step, count - 1) + 1} of ${count}: ${seen}${sight.at_goal ? ", at the goal" : ""}.`;
  if (sight.action === undefined) return `${place} The end.`;
  const action = sight.action.map((value) => number(value, 2).replace("-", "−")).join(", ");
  return `${place} Action ${action}, for it spoke τ = ${sight.horizon} with V = ${number(sight.value, 2).replace("-", "−")}.`;
}
