// One decision laid open: what each candidate is worth, and its progress at each horizon.

import { horizonColour } from "cogmap/scales.js";
import { number } from "cogmap/state.js";

const TEXT = 58; // height of the lines below

function disc(rect) {
  const side = Math.min(rect.h - TEXT, 0.46 * rect.w);
  return { x: rect.x + side / 2 + 2, y: rect.y + side / 2, reach: side / 2 - 4, hub: 0.16 * side };
}

/** Radius of a value between the worst (the hub) and the best (the rim). */
function radial(candidates, { hub, reach }) {
  const values = candidates.map((c) => c.value).filter((v) => v !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || 1;
  return { low, high, at: (v) => hub + ((v - low) / span) * (reach - hub) };
}

export function paintRose(context, state, rect, theme) {
  const { inspected } = state;
  const found = inspected?.candidates;
  context.font = "12px system-ui, sans-serif";
  if (!found) {
    const hint = inspected
      ? ["looking at the candidates ..."]
      : [
          "Point at a move of the route",
          "or of the charts to see",
          `the ${state.map.candidates} candidates there.`,
        ];
    context.fillStyle = theme.soft;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const middle = rect.y + rect.h / 2;
    hint.forEach((line, k) => context.fillText(line, rect.x + rect.w / 2, middle + 18 * (k - 1)));
    context.textAlign = "left";
    return;
  }
  const wheel = disc(rect);
  const scale = radial(found.candidates, wheel);
  rings(context, wheel, scale, theme);
  const half = Math.PI / found.candidates.length;
  found.candidates.forEach((candidate, k) => {
    const angle = -Math.atan2(candidate.action[1], candidate.action[0]);
    const reach = candidate.value === null ? wheel.reach : scale.at(candidate.value);
    context.beginPath();
    context.arc(wheel.x, wheel.y, wheel.hub - 3, angle - 0.8 * half, angle + 0.8 * half);
    context.arc(wheel.x, wheel.y, Math.max(reach, wheel.hub), angle + 0.8 * half, angle - 0.8 * half, true);
    context.closePath();
    if (candidate.value === null) {
      context.strokeStyle = theme.faint; // tried from here before
      context.setLineDash([2, 3]);
      context.stroke();
      context.setLineDash([]);
      return;
    }
    context.fillStyle = k === found.best ? theme[inspected.route] : theme.soft;
    context.globalAlpha = k === found.best ? 1 : candidate.value > 0 ? 0.5 : 0.22;
    context.fill();
    context.globalAlpha = 1;
    if (k === inspected.candidate) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 2;
      context.stroke();
    }
  });
  paintProgress(context, state, barsRect(rect), theme);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "top";
  context.fillStyle = theme.ink;
  inspectionText(state).forEach((line, k) => {
    context.fillText(line, rect.x, rect.y + rect.h - TEXT + 10 + 16 * k, rect.w);
  });
}

function rings(context, { x, y, reach, hub }, scale, theme) {
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  for (const radius of [hub, reach]) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
  if (scale.low < 0 && scale.high > 0) {
    context.setLineDash([3, 3]);
    context.strokeStyle = theme.soft;
    context.beginPath();
    context.arc(x, y, scale.at(0), 0, 2 * Math.PI); // V = 0
    context.stroke();
    context.setLineDash([]);
  }
}

function barsRect(rect) {
  const side = Math.min(rect.h - TEXT, 0.46 * rect.w);
  return { x: rect.x + side + 52, y: rect.y + 18, w: rect.w - side - 68, h: rect.h - TEXT - 40 };
}

/** Progress of the shown candidate at each horizon that was asked. */
function paintProgress(context, state, rect, theme) {
  const { candidates, taus } = state.inspected.candidates;
  const { progress } = candidates[state.inspected.candidate];
  if (!progress) return unrecorded(context, rect, theme);
  const longest = state.map.taus.at(-1); // a colour means the same horizon as along the route
  const [first, last] = [taus[0], taus.at(-1)];
  const [low, high] = [Math.min(0, ...progress), Math.max(1e-9, ...progress)];
  const y = (v) => rect.y + (rect.h * (high - v)) / (high - low);
  const x = (tau) => rect.x + (Math.log(tau / first) / (Math.log(last / first) || 1)) * rect.w;
  const wide = Math.max(1, Math.min(14, (0.7 * rect.w) / taus.length));
  progress.forEach((value, k) => {
    context.fillStyle = value >= 0 ? horizonColour(taus[k], longest) : theme.soft;
    context.globalAlpha = value >= 0 ? 1 : 0.5;
    const [top, bottom] = [Math.min(y(value), y(0)), Math.max(y(value), y(0))];
    context.fillRect(x(taus[k]) - wide / 2, top, wide, Math.max(1, bottom - top));
    if (value >= 0 && wide > 4) {
      context.strokeStyle = theme.soft;
      context.lineWidth = 0.5;
      context.strokeRect(x(taus[k]) - wide / 2, top, wide, Math.max(1, bottom - top));
    }
  });
  context.globalAlpha = 1;
  context.strokeStyle = theme.soft;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(rect.x - wide, Math.round(y(0)) + 0.5);
  context.lineTo(rect.x + rect.w + wide, Math.round(y(0)) + 0.5);
  context.stroke();
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillText(number(high, 2), rect.x - wide - 3, y(high));
  if (high - low > 0 && y(low) - y(0) > 14) context.fillText(number(low, 2), rect.x - wide - 3, y(low));
  if (y(0) - y(high) > 14) context.fillText("0", rect.x - wide - 3, y(0));
  context.textAlign = "center";
  context.textBaseline = "top";
  const few = taus.length <= 6;
  for (const tau of few ? taus : [1, 16, 256, 4096].filter((tau) => first <= tau && tau <= last)) {
    context.fillText(String(tau), x(tau), rect.y + rect.h + 5);
  }
  context.textAlign = "left";
  context.textBaseline = "bottom";
  const words = rect.w < 165 ? "progress at each τ" : "progress at each horizon asked";
  context.fillText(words, rect.x - wide, rect.y - 5);
}

function unrecorded(context, rect, theme) {
  context.fillStyle = theme.soft;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillText("recorded for the chosen one only", rect.x - 20, rect.y + rect.h / 2, rect.w + 20);
}

/** The candidate whose direction is closest to the pointer, or null outside the rose. */
export function candidateAt(state, rect, [px, py]) {
  const found = state.inspected?.candidates;
  if (!found) return null;
  const { x, y, reach } = disc(rect);
  const away = Math.hypot(px - x, py - y);
  if (away > reach + 6 || away < 4) return null;
  const [dx, dy] = [(px - x) / away, (y - py) / away];
  const along = found.candidates.map(({ action }) => {
    return (dx * action[0] + dy * action[1]) / (Math.hypot(...action) || 1);
  });
  return along.indexOf(Math.max(...along));
}

/** The inspected decision in words, one line each for where, what and why. */
export function inspectionText(state) {
  const { route, step, candidate, candidates } = state.inspected;
  const way = state.routes[route];
  const { action, value, radius, progress } = candidates.candidates[candidate];
  const [x, y] = way.steps[step].at;
  const degrees = Math.round((Math.atan2(action[1], action[0]) * 180) / Math.PI + 360) % 360;
  const chosen = candidate === way.steps[step].candidate;
  const worth = value === null ? "tried here before" : `V ${number(value)}`;
  const judged = radius ? `, judged ${radius} ${radius === 1 ? "unit" : "units"} on` : "";
  const best = progress && Math.max(...progress);
  const tau = chosen ? way.steps[step].horizon : progress && candidates.taus[progress.indexOf(best)];
  const asked = [...new Set([candidates.taus[0], candidates.taus.at(-1)])].join(" to ");
  const reason = chosen ? "argued for by" : "most progress at";
  return [
    `${state.compare ? `${route}, move` : "Move"} ${step + 1} of ${way.steps.length} at (${x.toFixed(1)}, ${y.toFixed(1)})`,
    `${chosen ? "chosen" : "candidate"}: towards ${degrees}°, ${worth}${judged}`,
    progress ? `${reason} τ = ${tau}, of ${asked} asked; largest progress ${number(best)}` : "",
  ].filter(Boolean);
}
