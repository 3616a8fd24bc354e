// Where each pane of the canvas lies: a function of the state and the width alone.

import { aspect, inside } from "cogmap/geometry.js";
import { planned, shownMap } from "cogmap/state.js";

export const TITLE = 26; // height of a pane's title
export const BAR = 40; // height of a colour bar with its numbers
const GAP = 18;
const tallest = (width) => Math.max(470, 0.38 * width); // of a map
const chartHeight = (width) => (width > 1300 ? 310 : 250); // of the strip chart and of the rose

/** The panes {name, x, y, w, h} and the height of the whole canvas. */
export function layout(state, width) {
  const map = shownMap(state);
  if (state.mode === "draw") return rows([[{ name: "editor", w: width, h: editorHeight(state, width) }]]);
  if (!map) return { panes: [], height: 320 };
  const pictures = pictureNames(state);
  const charts = state.mode === "training" ? ["loss"] : planned(map) ? ["strip", "rose"] : ["strip"];
  if (width < 620) {
    const all = pictures.map((name) => picture(map, name, width, width));
    const below = [...charts, ...extra(state)].map((name) => ({ name, w: width, h: chartHeight(width) }));
    return rows([...all, ...below].map((pane) => [pane]));
  }
  if (pictures.length === 1) return beside(map, pictures[0], charts, width, extra(state));
  const columns = pictures.length === 3 && width >= 900 ? 3 : 2;
  const side = (width - GAP * (columns - 1)) / columns;
  const lines = [];
  for (let k = 0; k < pictures.length; k += columns) {
    lines.push(pictures.slice(k, k + columns).map((name) => picture(map, name, side, width)));
  }
  const half = (width - GAP * (charts.length - 1)) / charts.length;
  lines.push(charts.map((name) => ({ name, w: half, h: chartHeight(width) })));
  return rows(lines);
}

export function pictureNames(state) {
  if (state.mode === "training") return ["forming"];
  const { exact, difference, embedding } = state.views;
  const names = ["learned"];
  if (exact && state.map.exact) names.push("exact");
  if (difference && state.map.exact) names.push("difference");
  if (embedding) names.push("embedding");
  return names;
}

function picture(map, name, w, width) {
  return { name, w, h: TITLE + Math.min(tallest(width), w * aspect(map)) + BAR };
}

/** A report also shows how its model was trained. */
function extra(state) {
  return state.curve ? ["loss"] : [];
}

/** One picture on the left, the charts stacked on its right, the rest below. */
function beside(map, name, charts, width, rest) {
  const left = { ...picture(map, name, 0.6 * (width - GAP), width), x: 0, y: 0 };
  const each = Math.max(210, (left.h - GAP * (charts.length - 1)) / charts.length);
  const right = charts.map((chart, k) => ({
    name: chart,
    x: left.w + GAP,
    y: k * (each + GAP),
    w: 0.4 * (width - GAP),
    h: each,
  }));
  let height = Math.max(left.h, charts.length * (each + GAP) - GAP);
  const below = rest.map((chart) => ({ name: chart, x: 0, y: height + GAP, w: width, h: 200 }));
  if (below.length) height += GAP + 200;
  return { panes: [left, ...right, ...below], height };
}

function rows(lines) {
  const panes = [];
  let y = 0;
  for (const line of lines) {
    let x = 0;
    for (const pane of line) {
      panes.push({ ...pane, x, y });
      x += pane.w + GAP;
    }
    y += Math.max(...line.map((pane) => pane.h)) + GAP;
  }
  return { panes, height: y - GAP };
}

function editorHeight({ editor: { rows } }, width) {
  return TITLE + Math.min(560, (width * rows.length) / rows[0].length);
}

/** The part of a pane between its title and its colour bar. */
export function body(pane) {
  const bar = ["learned", "exact", "difference", "forming", "embedding"].includes(pane.name) ? BAR : 0;
  return { x: pane.x, y: pane.y + TITLE, w: pane.w, h: pane.h - TITLE - bar };
}

export function paneAt(panes, point) {
  return panes.find((pane) => inside(pane, point)) ?? null;
}
