// The whole canvas as a function of the state.

import { paintLoss } from "cogmap/curve.js";
import { paintEditor } from "cogmap/editor.js";
import { paintEmbedding, paintPlaces } from "cogmap/embedding.js";
import { balancedRange, difference, paintBar, paintField, sharedRange } from "cogmap/field.js";
import { view } from "cogmap/geometry.js";
import { BAR, body, layout } from "cogmap/layout.js";
import { paintEnds, paintFloor, paintRing, paintWalls } from "cogmap/maze.js";
import { paintRose } from "cogmap/rose.js";
import { LETTERS, paintBadge, paintRoute } from "cogmap/route.js";
import { horizonColour, look } from "cogmap/scales.js";
import { LOWEST } from "cogmap/state.js";
import { paintStrip } from "cogmap/strip.js";
import { paintReading, paintTitle } from "cogmap/titles.js";

export function paint(context, state, width) {
  const theme = look(state.dark);
  const { panes, height } = layout(state, width);
  context.clearRect(0, 0, width, height);
  for (const pane of panes) {
    paintTitle(context, state, pane, theme);
    paintReading(context, state, pane, theme);
    painters[pane.name](context, state, pane, theme);
  }
}

const painters = {
  learned: (context, state, pane, theme) => {
    const field = state.fields.learned;
    const horizons = state.map.taus.length > 0;
    const range = field && sharedRange(shownFields(state), horizons ? LOWEST : -Infinity);
    picture(context, state, pane, theme, { values: field?.values, range, scale: state.scale });
    if (horizons) horizonKey(context, state, pane, theme);
    else if (range) bar(context, pane, range, state.scale, theme, state.map.colours);
  },
  exact: (context, state, pane, theme) => {
    const field = state.fields.exact;
    const range = field && sharedRange(shownFields(state));
    picture(context, state, pane, theme, { values: field?.values, range, scale: state.scale });
    if (range) bar(context, pane, range, state.scale, theme, "G*");
    else waiting(context, pane, "computing the exact score ...", theme);
  },
  difference: (context, state, pane, theme) => {
    const { learned, exact } = state.fields;
    const both = learned && exact && learned.tau === exact.tau;
    const values = both ? difference(learned.values, exact.values) : null;
    const range = values && balancedRange(values);
    picture(context, state, pane, theme, { values, range, scale: theme.difference });
    if (range) bar(context, pane, range, theme.difference, theme, "G − G*");
  },
  embedding: (context, state, pane, theme) => {
    const rect = body(pane);
    paintEmbedding(context, state, rect, theme);
    const key = { x: pane.x + pane.w - 90, y: rect.y + rect.h - 14, w: 90, h: BAR + 14 };
    const { x } = paintPlaces(context, state.map, key, theme);
    context.fillStyle = theme.soft;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText("coloured by place:", x - 8, pane.y + pane.h);
    context.textAlign = "left";
  },
  strip: (context, state, pane, theme) => {
    const rect = body(pane);
    const inner = { ...rect, y: rect.y + 16, h: rect.h - 16 };
    const any = LETTERS.some((letter) => state.routes[letter]?.steps.length);
    if (any) paintStrip(context, state, inner, theme);
    else waiting(context, { ...pane, name: "strip" }, "No route yet. Press Plan.", theme);
  },
  rose: (context, state, pane, theme) => paintRose(context, state, body(pane), theme),
  forming: (context, state, pane, theme) => {
    const { jobField, jobMap } = state;
    const values = jobField?.values.length === jobMap.points.length ? jobField.values : null;
    const range = values && sharedRange([values]);
    const seen = view(jobMap, body(pane));
    paintFloor(context, seen, theme);
    if (values) paintField(context, jobMap, seen, values, range, state.scale);
    paintWalls(context, jobMap, seen, theme);
    if (jobMap.points.length) paintRing(context, seen.place(state.jobGoal), 6, theme);
    if (range) bar(context, pane, range, state.scale, theme, "G");
  },
  loss: (context, state, pane, theme) => {
    const reports = state.job?.loss ?? state.curve;
    const of = state.job?.phase === "map" ? state.job.of : 0;
    paintLoss(context, reports, Math.max(of, reports.at(-1)?.step ?? 0), body(pane), theme);
  },
  editor: (context, state, pane, theme) => paintEditor(context, state, body(pane), theme),
};

function shownFields(state) {
  const { learned, exact } = state.fields;
  const also = state.views.exact || state.views.difference ? exact : null;
  return [learned, also].filter(Boolean).map((field) => field.values);
}

/** A maze with a field, the routes over it, start and goal. */
function picture(context, state, pane, theme, { values, range, scale }) {
  const { map } = state;
  const seen = view(map, body(pane));
  paintFloor(context, seen, theme);
  if (values) paintField(context, map, seen, values, range, scale);
  paintWalls(context, map, seen, theme);
  const longest = map.taus.at(-1);
  const faint = state.dragging !== null;
  const routes = LETTERS.map((letter) => state.routes[letter]).filter(Boolean);
  if (pane.name !== "difference") {
    for (const route of routes) paintRoute(context, route, seen, theme, { longest, faint, compared: state.compare });
    if (state.compare && !faint) {
      for (const route of routes) {
        paintBadge(context, route, seen, theme, route.letter === "A" ? 0.2 : 0.7);
      }
    }
  }
  paintEnds(context, seen, { start: state.start, goal: state.goal, radius: map.goal_radius }, theme);
  if (state.inspected) decision(context, state, seen, theme);
  if (state.hover && state.views.embedding) {
    paintRing(context, seen.place(map.points[state.hover.state]), 5, theme);
  }
  return seen;
}

/** The place that is inspected and where the local model expects the shown candidate to lead. */
function decision(context, state, seen, theme) {
  const { route, step, candidate, candidates } = state.inspected;
  const at = state.routes[route]?.steps[step]?.at;
  if (!at) return;
  const from = seen.place(at);
  const shown = candidates?.candidates[candidate];
  if (shown?.outcome) {
    const to = seen.place(shown.outcome);
    for (const [width, stroke] of [[5, theme.other], [2.2, "#ffffff"]]) {
      context.lineWidth = width;
      context.strokeStyle = stroke;
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
    }
    context.fillStyle = theme.other;
    context.beginPath();
    context.arc(...to, 3.5, 0, 2 * Math.PI);
    context.fill();
  }
  paintRing(context, from, 7, theme);
}

function bar(context, pane, range, scale, theme, label) {
  const rect = body(pane);
  paintBar(context, { ...rect, y: rect.y + rect.h }, range, scale, theme, label); // centred
}

/** Under the learned field: its own bar, and that of the horizons that colour the route. */
function horizonKey(context, state, pane, theme) {
  const rect = view(state.map, body(pane)).box;
  const below = { y: pane.y + pane.h - BAR };
  const range = state.fields.learned && sharedRange(shownFields(state));
  const half = rect.w / 2;
  if (range) paintBar(context, { ...below, x: rect.x + 16, w: half - 8 }, range, state.scale, theme, "G");
  const wide = Math.min(200, 0.62 * half);
  const left = rect.x + rect.w - wide - 22;
  const longest = state.map.taus.at(-1);
  for (let k = 0; k < wide; k++) {
    context.fillStyle = horizonColour(longest ** (k / wide), longest);
    context.fillRect(left + k, below.y + 8, 1.5, 9);
  }
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  context.textAlign = "right";
  context.fillText(rect.w < 440 ? "τ" : "τ of a move", left - 8, below.y + 6);
  context.textAlign = "center";
  [0, 0.5, 1].forEach((share) => {
    const tau = 2 ** Math.round(share * Math.log2(longest));
    context.fillText(String(tau), left + share * wide, below.y + 21);
  });
  context.textAlign = "left";
}

function waiting(context, pane, text, theme) {
  const rect = body(pane);
  context.fillStyle = theme.soft;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const y = pane.name === "exact" ? rect.y + rect.h + 14 : rect.y + rect.h / 2;
  context.fillText(text, rect.x + rect.w / 2, y);
  context.textAlign = "left";
}
