// Charts along the route: the horizon that argued for each move, its value, the way left. A rival's
// moves have no horizon, and a value only if it knows any.

import { LETTERS, badge } from "cogmap/route.js";
import { horizonColour } from "cogmap/scales.js";
import { number, planned } from "cogmap/state.js";

const LEFT = 46; // room for the numbers of the vertical axes
const FLOOR = 1e-6; // values below this are drawn here
const DASH = { A: [], B: [5, 4] };

/** Charts over a common axis of moves, as functions from a step to pixels. */
function charts(state, rect) {
  const routes = LETTERS.map((letter) => state.routes[letter]).filter((route) => route?.steps.length);
  const steps = Math.max(2, ...routes.map((route) => route.steps.length));
  const every = routes.flatMap((route) => route.steps);
  const most = Math.max(1, ...every.map((step) => step.left));
  const gap = 20;
  const shown = planned(state.map) ? promises(state.map, every) : values(state.map, every);
  shown.push(["distance left", (s) => s.left / most, ends([0, most], (v) => v / most)]);
  const h = (rect.h - 24 - (shown.length - 1) * gap) / shown.length;
  return {
    x: (k) => rect.x + LEFT + 6 + (k / (steps - 1)) * (rect.w - LEFT - 14),
    steps,
    rows: shown.map(([title, share, marks], row) => {
      const top = rect.y + row * (h + gap);
      return { title, top, h, marks, y: (step) => top + h * (1 - share(step)) };
    }),
  };
}

/** What a planner's moves have: [title, share of the height, marks of the axis] each. */
function promises(map, every) {
  const longest = map.taus.at(-1);
  const best = Math.max(10 * FLOOR, ...every.map((step) => step.value));
  const lowest = Math.max(FLOOR, Math.min(best / 10, ...every.map((s) => (s.value > 0 ? s.value : best))));
  const log = (v, low, high) => (Math.log(Math.max(v, low)) - Math.log(low)) / Math.log(high / low);
  const far = (tau) => log(tau, 1, longest);
  const worth = (value) => log(value, lowest, best);
  const below = every.some((step) => step.value < lowest);
  return [
    ["horizon τ", (s) => far(s.horizon), ends([1, longest], far)],
    ["value V", (s) => worth(s.value), ends([lowest, best], worth, below)],
  ];
}

/** The value of each place that a policy went through, where the method has values. */
function values({ colours }, every) {
  const known = every.map((step) => step.value).filter((value) => value !== null);
  if (!known.length) return [];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const share = (value) => ((value ?? low) - low) / (high - low || 1);
  const marks = ends([low, high], share).map(({ text, share }) => ({ text: text.replace(/^-/, "−"), share }));
  return [[`${colours} of the place`, (s) => share(s.value), marks]];
}

/** The lowest and highest number of an axis; `below`: some lie under the lowest. */
function ends(values, share, below = false) {
  return values.map((value, k) => {
    return { text: (below && k === 0 ? "≤ " : "") + number(value, 2), share: share(value) };
  });
}

export function paintStrip(context, state, rect, theme) {
  const { x, rows, steps } = charts(state, rect);
  const longest = state.map.taus.at(-1);
  context.font = "11px system-ui, sans-serif";
  for (const { title, top, h, marks } of rows) {
    context.strokeStyle = theme.faint;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.fillStyle = theme.soft;
    for (const { text, share } of marks) {
      const y = Math.round(top + h * (1 - share)) + 0.5;
      context.beginPath();
      context.moveTo(rect.x + LEFT, y);
      context.lineTo(rect.x + rect.w - 2, y);
      context.stroke();
      context.textAlign = "right";
      context.fillText(text, rect.x + LEFT - 6, y);
    }
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText(title, rect.x + LEFT, top - 5);
  }
  context.textBaseline = "bottom";
  context.fillText("move 1", rect.x + LEFT, rect.y + rect.h);
  context.textAlign = "right";
  context.fillText(String(steps), rect.x + rect.w - 2, rect.y + rect.h);
  context.textAlign = "left";
  for (const letter of LETTERS) {
    const route = state.routes[letter];
    if (!route?.steps.length) continue;
    for (const { y } of rows) {
      context.strokeStyle = theme[letter];
      context.lineWidth = 1.6;
      context.setLineDash(DASH[letter]);
      context.beginPath();
      route.steps.forEach((step, k) => context.lineTo(x(k), y(step)));
      context.stroke();
      context.setLineDash([]);
    }
    const aside = state.compare ? (letter === "A" ? -3 : 3) : 0; // both are seen where they agree
    // A rim first, then the colours: the darkest must show on a dark page, the lightest on a light one.
    for (const rim of [0.8, 0]) {
      route.steps.filter((step) => step.horizon).forEach((step, k) => {
        context.fillStyle = rim ? theme.soft : horizonColour(step.horizon, longest);
        context.beginPath();
        const [px, py, size] = [x(k), rows[0].y(step) + aside, 3.2 + rim];
        if (letter === "A") context.arc(px, py, size, 0, 2 * Math.PI);
        else context.rect(px - 0.9 * size, py - 0.9 * size, 1.8 * size, 1.8 * size);
        context.fill();
      });
    }
    if (state.compare) {
      const last = route.steps.length - 1;
      const k = Math.round(last * (letter === "A" ? 0.15 : 0.85)); // apart even if they are alike
      badge(context, x(k), rows.at(-1).y(route.steps[k]) - 1, letter, theme);
    }
  }
  const chosen = state.inspected && state.routes[state.inspected.route]?.steps[state.inspected.step];
  if (!chosen) return;
  const px = Math.round(x(state.inspected.step)) + 0.5;
  context.strokeStyle = theme.ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(px, rect.y);
  context.lineTo(px, rows.at(-1).top + rows.at(-1).h);
  context.stroke();
  for (const { y } of rows) {
    context.fillStyle = theme.page;
    context.lineWidth = 1.6;
    context.beginPath();
    context.arc(px, y(chosen), 4.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

/** The step under the pointer: the nearest in its column, of the route that lies closer. */
export function stepInStrip(state, rect, [px, py]) {
  const { x, rows } = charts(state, rect);
  let best = null;
  let least = Infinity;
  for (const letter of LETTERS) {
    state.routes[letter]?.steps.forEach((step, k) => {
      const away = Math.min(...rows.map(({ y }) => Math.abs(y(step) - py)));
      const gap = 8 * Math.abs(x(k) - px) + away;
      if (gap < least) [best, least] = [{ route: letter, step: k }, gap];
    });
  }
  return best;
}
