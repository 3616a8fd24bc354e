// The horizons along the route: G of the goal at every octave, and which horizon argued for each move.

import { sharedRange } from "cogmap/field.js";
import { GREEN, colour, horizonColour } from "cogmap/scales.js";
import { say, title } from "cogmap/world/sheet.js";
import { sights } from "cogmap/world/state.js";

const TITLE = 26;
const LEFT = 40;
const FOOT = 34; // the band that tells when the goal was held, and the numbers of the moves

/** Where moves and horizons lie in the chart. */
function axes({ route, world }, rect) {
  const count = Math.max(2, sights(route).length);
  const [left, top] = [rect.x + LEFT, rect.y + TITLE];
  const [w, h] = [rect.w - LEFT - 4, rect.h - TITLE - FOOT];
  const octaves = world.taus.length;
  return {
    left, top, w, h, count,
    cell: w / count,
    tall: h / octaves,
    x: (k) => left + ((k + 0.5) / count) * w,
    y: (tau) => top + h * (1 - (Math.log2(tau) + 0.5) / octaves),
  };
}

export function paintRibbon(context, state, rect, theme) {
  const { route, world, step } = state;
  title(context, rect, "Along the route: G of the goal at every horizon", theme);
  const seen = sights(route);
  if (!seen.length) return say(context, rect, state.planning ? "Planning ..." : "No route yet. Press Plan.", theme);
  const { left, top, w, h, count, cell, tall, x, y } = axes(state, rect);
  const range = sharedRange(seen.map(({ scores }) => scores));
  seen.forEach(({ scores }, k) => {
    scores.forEach((score, octave) => {
      context.fillStyle = colour("viridis", (score - range.low) / (range.high - range.low));
      context.fillRect(left + k * cell, top + h - (octave + 1) * tall, cell + 0.6, tall + 0.6);
    });
  });
  const longest = world.taus.at(-1);
  const size = Math.max(2.2, Math.min(4.5, cell / 2.4));
  route.steps.forEach(({ horizon }, k) => {
    context.fillStyle = horizonColour(horizon, longest);
    context.strokeStyle = "#ffffff";
    context.lineWidth = 1.2;
    context.beginPath();
    context.arc(x(k), y(horizon), size, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  });
  seen.forEach(({ at_goal: there }, k) => {
    context.fillStyle = there ? GREEN : theme.faint;
    context.fillRect(left + k * cell, top + h + 4, cell + 0.4, 6);
  });
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  world.taus.forEach((tau, k) => {
    if (tall >= 12 || k % 2 === 0) context.fillText(k === 0 ? `τ ${tau}` : String(tau), left - 6, y(tau));
  });
  context.textBaseline = "bottom";
  context.textAlign = "left";
  context.fillText("move 1", left, rect.y + rect.h);
  context.textAlign = "center";
  const whole = "dots: the horizon that argued; green: at the goal";
  const fits = context.measureText(whole).width < w - 100; // beside the numbers of the moves
  context.fillText(fits ? whole : "dots: its horizon; green: there", left + w / 2, rect.y + rect.h);
  context.textAlign = "right";
  context.fillText(String(route.steps.length), left + w, rect.y + rect.h);
  context.textAlign = "left";
  const here = x(Math.min(step, count - 1));
  for (const [width, stroke] of [[3.5, theme.other], [1.5, "#ffffff"]]) {
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.strokeRect(here - cell / 2, top - 1, cell, h + 12);
  }
}

/** The sight in the pointer's column, or null. */
export function sightInRibbon(state, rect, [px]) {
  const count = sights(state.route).length;
  if (!count) return null;
  const { left, cell } = axes(state, rect);
  return Math.max(0, Math.min(count - 1, Math.floor((px - left) / cell)));
}
