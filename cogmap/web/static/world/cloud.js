// What was seen, as points in the plane of h(x, τ), with the goal and the route among them.

import { paintBar, sharedRange } from "cogmap/field.js";
import { nearest } from "cogmap/geometry.js";
import { paintRing } from "cogmap/maze.js";
import { GREEN, colour, horizonColour } from "cogmap/scales.js";
import { degrees, paintFloor, paintGaze, paintTyped } from "cogmap/world/floor.js";
import { say, title } from "cogmap/world/sheet.js";
import { routePoints, sights, tauOf, words } from "cogmap/world/state.js";

const TITLE = 26;
const LABELLED = 40; // a building's label stands below the title
const BAR = 40;
const REACH = 18; // pixels from the pointer to what it means

/** From the plane to pixels: as large as it fits, alike on both axes. */
export function projection({ world, points: { points } }, rect) {
  const [top, margin] = world.floor ? [LABELLED, 24] : [TITLE, 14]; // an end's circle reaches beyond a floor
  const { x, y, w, h } = { ...rect, y: rect.y + top, h: rect.h - top - BAR };
  const drawn = [...points, ...(world.floor?.walls.flat() ?? [])];
  const [wide, tall] = [0, 1].map((axis) => Math.max(1e-6, ...drawn.map((p) => Math.abs(p[axis]))));
  const scale = Math.min((w / 2 - margin) / wide, (h / 2 - margin) / tall);
  return ([u, v]) => [x + w / 2 + u * scale, y + h / 2 - v * scale];
}

/** The numbers that colour the points, with their range; null while they are unknown. */
function shade({ world, colour: by, field }) {
  if (by === "G") return field && { values: field.values, range: sharedRange([field.values]), label: "G" };
  const values = world.rows.map((row) => row[by]);
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = Math.max(low + 1e-9, values.reduce((a, b) => Math.max(a, b)));
  return { values, range: { low, high }, label: world.names[by] };
}

export function paintCloud(context, state, rect, theme) {
  const { world, points, hover, route, field } = state;
  title(context, rect, heading(state), theme);
  if (!points) return say(context, rect, "computing the embedding ...", theme);
  const place = projection(state, rect);
  const at = points.points.map(place);
  const shown = shade(state);
  if (world.floor) {
    label(context, rect, world.name, theme);
    paintFloor(context, state, place, shown, theme);
  } else {
    paintDots(context, state, at, shown, rect, theme);
    const marks = route?.begun?.marks ?? [];
    for (const k of field?.marks ?? marks) paintMark(context, at[k], theme);
  }
  const way = routePoints(state)?.map(place);
  if (way) paintWay(context, state, way, theme);
  if (world.floor) paintTyped(context, state, place, theme);
  if (hover !== null && at[hover]) paintHover(context, state, at[hover], rect, theme);
  paintKeys(context, state, shown, rect, theme);
}

/** What the points are and what their colours mean. */
function heading(state) {
  const { world, colour: by, gaze } = state;
  if (world.floor) {
    const from = gaze === "" ? "best of all headings" : `looking ${degrees(world, Number(gaze))}° to the left of up`;
    return `G of the goal from each place at τ = ${tauOf(state)}, ${from}`;
  }
  const shades = by === "G" ? "G of the goal from each of them" : world.names[by];
  return `What was seen, at τ = ${tauOf(state)}, coloured by ${shades}`;
}

/** What a building's appearance is called, wherever it is drawn. */
function label(context, rect, text, theme) {
  context.fillStyle = theme.soft;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "top";
  context.fillText(text, rect.x, rect.y + 20, rect.w);
}

function paintDots(context, state, at, shown, rect, theme) {
  const share = (k) => (shown.values[k] - shown.range.low) / (shown.range.high - shown.range.low);
  const order = at.map((_, k) => k);
  if (shown && state.colour === "G") order.sort((a, b) => shown.values[a] - shown.values[b]); // likely on top
  const size = Math.max(1.8, Math.min(3.2, rect.w / 220));
  for (const k of order) {
    context.fillStyle = shown ? colour("viridis", share(k)) : theme.faint;
    context.beginPath();
    context.arc(...at[k], size, 0, 2 * Math.PI);
    context.fill();
  }
}

/** An observation that would do as the goal. */
function paintMark(context, [x, y], theme) {
  for (const [width, stroke] of [[4.5, theme.casing], [2.2, GREEN]]) {
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.beginPath();
    context.arc(x, y, 5.5, 0, 2 * Math.PI);
    context.stroke();
  }
}

function paintWay(context, state, way, theme) {
  const { route, step, world } = state;
  const longest = world.taus.at(-1);
  context.lineCap = "round";
  context.lineJoin = "round";
  context.strokeStyle = theme.other;
  context.lineWidth = 5.4;
  context.globalAlpha = 0.75;
  context.beginPath();
  for (const pixel of way) context.lineTo(...pixel);
  context.stroke();
  context.globalAlpha = 1;
  context.lineWidth = 3;
  for (let k = 0; k + 1 < way.length; k++) {
    context.strokeStyle = horizonColour(route.steps[k].horizon, longest);
    context.beginPath();
    context.moveTo(...way[k]);
    context.lineTo(...way[k + 1]);
    context.stroke();
  }
  context.fillStyle = "#ffffff";
  context.strokeStyle = theme.other;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(...way[0], 5.5, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  const last = Math.min(step, way.length - 1);
  const here = way[last];
  if (world.floor) paintGaze(context, world, here, sights(route)[last].observation[2], theme);
  paintRing(context, here, 8, theme);
}

function paintHover(context, { world, hover }, at, rect, theme) {
  paintRing(context, at, 6, theme);
  context.font = "12px system-ui, sans-serif";
  const text = !world.names.length ? `#${hover}` : `#${hover}: ${words(world.names.slice(0, Math.min(6, world.rows[hover].length)), world.rows[hover])}`;
  const wide = context.measureText(text).width + 12;
  const x = Math.max(rect.x, Math.min(rect.x + rect.w - wide, at[0] + 10));
  const y = at[1] > rect.y + 60 ? at[1] - 30 : at[1] + 12;
  context.fillStyle = theme.page;
  context.globalAlpha = 0.92;
  context.fillRect(x, y, wide, 20);
  context.globalAlpha = 1;
  context.fillStyle = theme.ink;
  context.textBaseline = "middle";
  context.fillText(text, x + 6, y + 10.5);
}

/** Below: what the colours of the points and of the route mean. */
function paintKeys(context, { world, route }, shown, rect, theme) {
  const y = rect.y + rect.h - BAR;
  if (shown) paintBar(context, { x: rect.x + 20, y, w: rect.w / 2 }, shown.range, "viridis", theme, shown.label);
  if (!route?.steps.length) return;
  const longest = world.taus.at(-1);
  const wide = Math.min(200, 0.3 * rect.w);
  const left = rect.x + rect.w - wide - 22;
  for (let k = 0; k < wide; k++) {
    context.fillStyle = horizonColour(longest ** (k / wide), longest);
    context.fillRect(left + k, y + 8, 1.5, 9);
  }
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  context.textAlign = "right";
  context.fillText(rect.w < 480 ? "τ" : "τ of a move", left - 8, y + 6);
  context.textAlign = "center";
  for (const part of [0, 0.5, 1]) {
    context.fillText(String(2 ** Math.round(part * Math.log2(longest))), left + part * wide, y + 21);
  }
  context.textAlign = "left";
}

/** The row of the sample under the pointer, or null. */
export function rowNear(state, rect, pointer) {
  if (!state.points) return null;
  return within(state.points.points.map(projection(state, rect)), pointer);
}

/** The sight of the route under the pointer, or null. */
export function sightNear(state, rect, pointer) {
  const way = routePoints(state);
  return way && within(way.map(projection(state, rect)), pointer, 9);
}

function within(pixels, pointer, reach = REACH) {
  const found = nearest(pixels, pointer);
  if (found < 0) return null;
  const [x, y] = pixels[found];
  return Math.hypot(x - pointer[0], y - pointer[1]) < reach ? found : null;
}
