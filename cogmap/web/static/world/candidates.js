// One decision: what each candidate was worth, and its progress at each horizon that was asked.

import { horizonColour } from "cogmap/scales.js";
import { paintBearing } from "cogmap/world/floor.js";
import { say, title } from "cogmap/world/sheet.js";
import { signed } from "cogmap/world/state.js";

const TITLE = 56;
const LABELLED = 6; // candidates that are few enough to be told by their numbers
const LEFT = 52;
const FOOT = 22;

export function paintCandidates(context, state, rect, theme) {
  const { route, step, world } = state;
  const move = route?.steps[step];
  title(context, rect, "One decision: what each action promised", theme);
  if (!move) {
    const text = route?.outcome ? "The end of the route: nothing more was decided." : "No decision yet.";
    return say(context, rect, text, theme);
  }
  const { progress, taus, candidate, values } = move;
  const every = progress.flat();
  const high = Math.max(0, ...every);
  const low = Math.min(0, ...every);
  const room = high - low || 1;
  const [left, top, w, h] = [rect.x + LEFT, rect.y + TITLE, rect.w - LEFT - 6, rect.h - TITLE - FOOT];
  const y = (value) => top + (h * (high - value)) / room;
  const x = place(world.actions, values.length, left, w);
  const wide = Math.max(2, Math.min(22, (0.72 * w) / values.length));
  context.fillStyle = theme.faint;
  context.fillRect(x(candidate) - wide / 2 - 3, top - 4, wide + 6, h + 8);
  const longest = world.taus.at(-1);
  const each = wide / taus.length;
  progress.forEach((gains, k) => {
    context.globalAlpha = 0.2; // it was tried here before
    gains.forEach((gain, t) => {
      context.fillStyle = horizonColour(taus[t], longest);
      if (values[k] !== null) context.globalAlpha = strength(t);
      const from = Math.min(y(0), y(gain));
      context.fillRect(x(k) - wide / 2 + t * each, from, Math.max(1, each - 0.4), Math.max(1, Math.abs(y(gain) - y(0))));
    });
  });
  context.globalAlpha = 1;
  context.strokeStyle = theme.soft;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left, Math.round(y(0)) + 0.5);
  context.lineTo(left + w, Math.round(y(0)) + 0.5);
  context.stroke();
  paintLabels(context, state, { left, top, w, h, y, low, high, rect, x }, theme);
}

/** Neighbouring horizons have nearly one colour; every other one is paler. */
const strength = (t) => (t % 2 ? 0.55 : 1);

/** Actions of one number lie where that number is, all others beside each other. */
function place(actions, count, left, w) {
  if (actions[0]?.length === 1) return (k) => left + 14 + ((actions[k][0] + 1) / 2) * (w - 28);
  return (k) => left + ((k + 0.5) / count) * w;
}

function paintLabels(context, state, { left, top, w, h, y, low, high, rect, x }, theme) {
  const { world, route, step } = state;
  const { taus, candidate } = route.steps[step];
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = theme.soft;
  context.fillText("gain of exp(G) at", rect.x, rect.y + 30.5);
  let after = rect.x + context.measureText("gain of exp(G) at").width + 10;
  for (const [t, tau] of [...taus.entries()].filter(([t]) => taus.length <= 4 || t === 0 || t === taus.length - 1)) {
    context.fillStyle = horizonColour(tau, world.taus.at(-1));
    context.globalAlpha = strength(t);
    context.fillRect(after, rect.y + 25, 10, 10);
    context.globalAlpha = 1;
    context.fillStyle = theme.soft;
    context.fillText(`τ = ${tau}`, after + 14, rect.y + 30.5);
    after += 26 + context.measureText(`τ = ${tau}`).width;
  }
  context.textAlign = "right";
  for (const value of new Set([low, 0, high])) {
    const crowded = value !== 0 && Math.abs(y(value) - y(0)) < 14;
    if (!crowded) context.fillText(signed(value), left - 6, y(value));
  }
  context.textBaseline = "bottom";
  const bottom = rect.y + rect.h;
  if (world.actions[0]?.length === 1) {
    for (const value of [-1, 0, 1]) {
      context.textAlign = "center";
      context.fillText(String(value).replace("-", "−"), left + 14 + ((value + 1) / 2) * (w - 28), bottom);
    }
    context.textAlign = "left";
    context.fillText("action", rect.x, bottom);
  } else if (world.actions.length && world.actions.length <= LABELLED && world.actions[0].length <= LABELLED) {
    context.textAlign = "center";
    world.actions.forEach((action, k) => context.fillText(action.map((value) => signed(value)).join(" "), x(k), bottom));
    context.textAlign = "left";
    context.fillText("action", rect.x, bottom);
  } else if (world.ways.length) {
    world.ways.forEach((way, k) => paintBearing(context, way, [x(k), bottom - 8], theme));
  } else {
    context.textAlign = "center";
    const wide = context.measureText("candidate 000").width / 2;
    const at = Math.max(left + wide, Math.min(left + w - wide, x(candidate)));
    context.fillText(`candidate ${candidate + 1}`, at, bottom);
  }
  context.textAlign = "left";
}
