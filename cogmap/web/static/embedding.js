// The embedding h(x, τ) of every lattice point in a plane; colour tells where in the maze a point lies.

import { nearest, stateAt, view as mapView } from "cogmap/geometry.js";
import { paintFloor, paintWalls, paintRing } from "cogmap/maze.js";
import { LETTERS, routePlaces } from "cogmap/route.js";
import { placeColour } from "cogmap/scales.js";

/** From the plane to pixels, as large as it fits, with equal scales on both axes. */
function projection(points, rect) {
  const [wide, tall] = [0, 1].map((axis) => Math.max(1e-6, ...points.map((p) => Math.abs(p[axis]))));
  const scale = Math.min((rect.w / 2 - 8) / wide, (rect.h / 2 - 8) / tall);
  const [x, y] = [rect.x + rect.w / 2, rect.y + rect.h / 2];
  return ([u, v]) => [x + u * scale, y - v * scale];
}

export function colourOf(map, [x, y]) {
  const u = (x - map.low[0] - map.cell) / (map.high[0] - map.low[0] - 2 * map.cell);
  const v = (y - map.low[1] - map.cell) / (map.high[1] - map.low[1] - 2 * map.cell);
  return placeColour(Math.max(0, Math.min(1, u)), Math.max(0, Math.min(1, v)));
}

export function paintEmbedding(context, state, rect, theme) {
  const { map, embedding } = state;
  if (!embedding) {
    context.fillStyle = theme.soft;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillText("computing the embedding ...", rect.x + rect.w / 2, rect.y + rect.h / 2);
    context.textAlign = "left";
    return;
  }
  const place = projection(embedding.points, rect);
  const at = embedding.points.map(place);
  context.strokeStyle = theme.soft;
  context.globalAlpha = 0.28;
  context.lineWidth = 0.7;
  context.beginPath();
  map.points.forEach(([x, y], k) => {
    for (const next of [stateAt(map, [x + map.unit, y]), stateAt(map, [x, y + map.unit])]) {
      if (next < 0) continue;
      context.moveTo(...at[k]);
      context.lineTo(...at[next]);
    }
  });
  context.stroke();
  context.globalAlpha = 1;
  for (const letter of LETTERS) {
    const route = state.routes[letter];
    if (!route?.steps.length) continue;
    context.strokeStyle = theme[letter];
    context.lineWidth = 8;
    context.globalAlpha = 0.45;
    context.lineJoin = "round";
    context.setLineDash(letter === "A" ? [] : [8, 5]);
    context.beginPath();
    for (const step of routePlaces(route)) context.lineTo(...at[nearest(map.points, step)]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
  const size = Math.max(1.6, Math.min(3.4, rect.w / 160));
  map.points.forEach((point, k) => {
    context.fillStyle = colourOf(map, point);
    context.beginPath();
    context.arc(...at[k], size, 0, 2 * Math.PI);
    context.fill();
  });
  if (state.hover) paintRing(context, at[state.hover.state], 6, theme);
}

/** The key: a small maze in which every position has its colour. */
export function paintPlaces(context, map, rect, theme) {
  const view = mapView(map, rect);
  paintFloor(context, view, theme);
  map.points.forEach((point) => {
    const [x, y] = view.place(point);
    const half = 0.9 * view.move; // squares overlap: no gaps
    context.fillStyle = colourOf(map, point);
    context.fillRect(x - half, y - half, 2 * half, 2 * half);
  });
  paintWalls(context, map, view, theme);
  return view.box;
}

/** The lattice point whose embedding is closest to the pointer. */
export function embeddedNear(state, rect, point) {
  if (!state.embedding) return -1;
  const place = projection(state.embedding.points, rect);
  const found = nearest(state.embedding.points.map(place), point);
  const [x, y] = place(state.embedding.points[found]);
  return Math.hypot(x - point[0], y - point[1]) < 24 ? found : -1;
}
