// Routes over the maze: colour is the horizon that argued for a move, line style the planner.

import { horizonColour } from "cogmap/scales.js";

export const LETTERS = ["A", "B"];
const DASH = { A: [], B: [7, 5] };

export function routePlaces(route) {
  return route.steps.length ? [route.steps[0].at, ...route.steps.map((step) => step.to)] : [];
}

/** The pixels of a route. Two that are compared are shifted apart by `aside` pixels. */
function pixels(route, view, aside) {
  const places = routePlaces(route).map(view.place);
  if (!aside) return places;
  return places.map(([x, y], k) => {
    const [ax, ay] = places[Math.max(0, k - 1)];
    const [bx, by] = places[Math.min(places.length - 1, k + 1)];
    const long = Math.hypot(bx - ax, by - ay);
    return long < 1 ? [x, y] : [x + (aside * (by - ay)) / long, y - (aside * (bx - ax)) / long];
  });
}

const ASIDE = { A: 3.5, B: -3.5 };

/** Draws a route; `faint` while its start or goal is being dragged. */
export function paintRoute(context, route, view, theme, { longest, faint, compared }) {
  const places = pixels(route, view, compared ? ASIDE[route.letter] : 0);
  if (places.length < 2) return;
  const width = Math.max(2.6, Math.min(4.4, 0.5 * view.move));
  context.save();
  context.globalAlpha = faint ? 0.3 : 1;
  context.lineCap = "round";
  context.lineJoin = "round";
  // A casing keeps the line apart from any field: light for A, dark for B.
  context.strokeStyle = route.letter === "A" ? theme.casing : theme.other;
  context.lineWidth = width + 3.4;
  context.beginPath();
  for (const place of places) context.lineTo(...place);
  context.stroke();
  if (faint) return context.restore();
  context.lineWidth = width;
  context.setLineDash(DASH[route.letter]);
  if (route.letter === "B") context.lineCap = "butt";
  let walked = 0;
  route.steps.forEach((step, k) => {
    const [from, to] = [places[k], places[k + 1]];
    context.strokeStyle = step.horizon ? horizonColour(step.horizon, longest) : theme[route.letter];
    context.lineDashOffset = walked; // dashes run on from one stretch to the next
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    walked += Math.hypot(to[0] - from[0], to[1] - from[1]);
  });
  context.restore();
}

/** The letter of a route in a round badge beside its middle. */
export function paintBadge(context, route, view, theme, share) {
  const places = routePlaces(route).map(view.place);
  if (places.length < 4) return;
  const k = Math.min(places.length - 2, Math.max(1, Math.round(share * places.length)));
  const [ax, ay] = places[k - 1];
  const [bx, by] = places[k + 1];
  const long = Math.hypot(bx - ax, by - ay) || 1;
  const side = 4.5 * ASIDE[route.letter];
  const x = places[k][0] + (side * (by - ay)) / long;
  const y = places[k][1] - (side * (bx - ax)) / long;
  badge(context, x, y, route.letter, theme);
}

export function badge(context, x, y, letter, theme) {
  context.fillStyle = theme[letter];
  context.strokeStyle = "#ffffff";
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, 8, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  context.fillStyle = theme.page === "#ffffff" ? "#ffffff" : "#0b0c0f";
  context.font = "bold 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(letter, x, y + 0.5);
  context.textAlign = "left";
}

/** The decision of any route that lies closest to a pixel, within reach. */
export function stepNear(routes, view, [px, py], reach) {
  let best = null;
  let least = reach;
  for (const letter of LETTERS) {
    routes[letter]?.steps.forEach((step, k) => {
      const [x, y] = view.place(step.at);
      const gap = Math.hypot(px - x, py - y);
      if (gap < least) [best, least] = [{ route: letter, step: k }, gap];
    });
  }
  return best;
}
