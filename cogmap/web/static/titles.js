// The title above each pane, and the number under the pointer.

import { difference } from "cogmap/field.js";
import { LETTERS } from "cogmap/route.js";
import { number, planned, plannerTitle, tauOf } from "cogmap/state.js";

export function paintTitle(context, state, pane, theme) {
  context.font = "600 13px system-ui, sans-serif";
  context.fillStyle = theme.ink;
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillText(titleOf(state, pane), pane.x, pane.y + 4, pane.w);
}

/** The number under the pointer, at the right of the title. */
export function paintReading(context, state, pane, theme) {
  if (pane.name === "strip") return right(context, pane, moveOf(state), theme);
  const { learned, exact } = state.fields;
  const k = state.hover?.state;
  const values = {
    learned: () => learned?.values[k],
    exact: () => exact?.values[k],
    difference: () => learned && exact && difference([learned.values[k]], [exact.values[k]])[0],
  };
  const value = k === undefined ? null : values[pane.name]?.();
  if (value === null || value === undefined) return;
  const text = `(${state.map.points[k].join(", ")}): ${value.toFixed(2)}`.replaceAll("-", "−");
  right(context, pane, text, theme);
}

function right(context, pane, text, theme) {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = theme.soft;
  context.textAlign = "right";
  context.fillText(text, pane.x + pane.w, pane.y + 5);
  context.textAlign = "left";
}

function titleOf(state, { name, w }) {
  const tau = state.fields.learned?.tau ?? tauOf(state);
  const ahead = (t) => (w < 420 ? `, τ = ${t}` : t === 1 ? ", 1 move ahead" : `, ${t} moves ahead`);
  switch (name) {
    case "learned":
      if (!state.map.taus.length) return rivalTitle(state.map, w);
      return (w < 420 ? "Learned G" : "Learned G of the goal") + ahead(tau);
    case "exact":
      return "Exact G*" + ahead(state.fields.exact?.tau ?? tau);
    case "difference":
      return "Learned minus exact";
    case "embedding":
      return `Embedding h(x, τ = ${state.embedding?.tau ?? tau}), ${state.method === "pca" ? "PCA" : "t-SNE"}`;
    case "strip":
      return w < 360 && !planned(state.map) ? "Along the route" : stripTitle(state);
    case "rose":
      return `What the planner saw: ${state.map.candidates} candidates by value V`;
    case "forming":
      return state.jobField ? `G as it is learned${ahead(state.jobField.tau)}` : "The maze to be explored";
    case "loss":
      return w < 700
        ? "Loss of the temporal model"
        : "Loss of the temporal model (each dot a few random horizons, the line their running mean)";
    default:
      return "Your maze: paint walls and floor";
  }
}

function rivalTitle({ method, colours }, w) {
  if (!colours) return `${method}: a policy alone` + (w < 420 ? "" : ", it values no places");
  return `${method}: ${colours} towards the goal` + (w < 420 ? "" : ", the higher the nearer");
}

/** The move of a policy that is looked at; those of a planner have a pane of their own. */
function moveOf(state) {
  const { map, inspected, routes } = state;
  const step = inspected && !planned(map) && routes[inspected.route]?.steps[inspected.step];
  return step ? moveText(step, inspected.step) : "";
}

export function moveText({ value, left }, k) {
  const worth = value === null ? "" : `value ${number(value)}, `;
  return `move ${k + 1}: ${worth}${left.toFixed(1)} left`.replaceAll("-", "−");
}

function stripTitle(state) {
  const shown = LETTERS.filter((letter) => state.routes[letter]);
  if (!shown.length) return "Along the route";
  const tag = (letter) => (state.compare ? `${letter} ` : "");
  const names = shown.map((letter) => tag(letter) + plannerTitle(state.routes[letter].planner));
  return `Along the route: ${names.join(", ")}`;
}
