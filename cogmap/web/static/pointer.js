// The pointer on the canvas: which pane it is in and what it does there.

import { cellAt, painted } from "cogmap/editor.js";
import { embeddedNear } from "cogmap/embedding.js";
import { moveEnd } from "cogmap/ends.js";
import { inside, nearest, settled, view } from "cogmap/geometry.js";
import { body, layout, paneAt } from "cogmap/layout.js";
import { candidateAt } from "cogmap/rose.js";
import { stepNear } from "cogmap/route.js";
import { stepInStrip } from "cogmap/strip.js";

const HANDLE = 16; // px around start and goal that take hold of them
const REACH = 8; // px around a move of a route
const MAPS = ["learned", "exact", "difference"];

export function followPointer(app, canvas, { refresh, planning, training }) {
  let brush = null; // the mark that a stroke over the drawn maze paints

  const pixel = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const pane = (point) => paneAt(layout(app.state, canvas.clientWidth).panes, point);
  const seen = (where) => view(app.state.map, body(where));

  /** The start or goal under a pixel. */
  function handleAt(where, point) {
    const { place } = seen(where);
    const away = (end) => {
      const [x, y] = place(app.state[end]);
      return Math.hypot(x - point[0], y - point[1]);
    };
    const end = away("goal") <= away("start") ? "goal" : "start";
    return away(end) < HANDLE ? end : null;
  }

  function pressed(event) {
    if (event.button !== 0) return;
    const point = pixel(event);
    const where = pane(point);
    if (!where) return;
    canvas.focus({ preventScroll: true, focusVisible: false });
    if (where.name === "editor") return stroke(where, point, true, event);
    if (where.name === "forming") return aim(where, point);
    if (where.name === "strip") return pin(stepInStrip(app.state, stripRect(where), point));
    if (!MAPS.includes(where.name) || !inside(seen(where).box, point)) return;
    const end = handleAt(where, point);
    const step = end ? null : stepNear(app.state.routes, seen(where), point, REACH);
    if (step) return pin(step);
    if (app.source.pick) return app.choose(app.source.pick(seen(where).unit(point)));
    app.change({ dragging: end ?? "goal", draggedIn: where.name, hover: null, inspected: null });
    canvas.setPointerCapture(event.pointerId);
    if (!end) drag(point);
  }

  function drag(point) {
    const where = layout(app.state, canvas.clientWidth).panes.find((p) => p.name === app.state.draggedIn);
    moveEnd(app, app.state.dragging, seen(where).unit(point));
    refresh();
  }

  function moved(event) {
    const point = pixel(event);
    if (app.state.dragging) return drag(point);
    const where = pane(point);
    if (brush && where?.name === "editor") return stroke(where, point, false, event);
    if (app.state.mode === "map" && app.state.map) hover(where, point);
  }

  function hover(where, point) {
    const { map, inspected, routes } = app.state;
    let state = -1;
    let cursor = "default";
    if (where && MAPS.includes(where.name)) {
      const box = seen(where);
      if (inside(box.box, point)) {
        const place = box.unit(point);
        if (!settled(map, place).moved) state = nearest(map.points, place);
        cursor = handleAt(where, point) && !app.source.pick ? "grab" : "crosshair";
        const step = stepNear(routes, box, point, REACH);
        if (step) cursor = "pointer";
        if (step && !inspected?.pinned) planning.inspect(step.route, step.step);
      }
    } else if (where?.name === "embedding") {
      state = embeddedNear(app.state, body(where), point);
    } else if (where?.name === "strip" && !inspected?.pinned) {
      const step = stepInStrip(app.state, stripRect(where), point);
      if (step) planning.inspect(step.route, step.step);
    } else if (where?.name === "rose") {
      const candidate = candidateAt(app.state, body(where), point);
      if (candidate !== null) planning.consider(candidate, true);
    }
    if (where?.name !== "rose") planning.leave();
    canvas.style.cursor = cursor;
    const shown = state >= 0 ? { state } : null;
    if (shown?.state !== app.state.hover?.state) app.change({ hover: shown });
  }

  function pin(step) {
    if (step) planning.inspect(step.route, step.step, true);
  }

  function released() {
    brush = null;
    if (!app.state.dragging) return;
    app.change({ dragging: null });
    app.endMoved();
  }

  /** Paints the drawn maze; the first cell of a stroke says whether with wall or floor. */
  function stroke(where, point, first, event) {
    const { rows } = app.state.editor;
    const cell = cellAt(rows, body(where), point);
    if (!cell) return;
    if (first) {
      brush = rows[cell[0]][cell[1]] === "#" ? "." : "#";
      canvas.setPointerCapture(event.pointerId);
    }
    app.change({ editor: { rows: painted(rows, cell, brush), cursor: cell } });
  }

  /** While a model is trained, a click asks for the score of that place. */
  function aim(where, point) {
    const { jobMap } = app.state;
    if (!jobMap.points.length) return;
    const place = view(jobMap, body(where)).unit(point);
    app.change({ jobGoal: jobMap.points[nearest(jobMap.points, place)] });
    training.field();
  }

  /** A finger that takes hold of something must not scroll the page. */
  function touched(event) {
    const [touch] = event.touches;
    const point = pixel(touch);
    const where = pane(point);
    const paints = where?.name === "editor" && cellAt(app.state.editor.rows, body(where), point);
    const holds = where && MAPS.includes(where.name) && !app.source.pick && handleAt(where, point);
    if (paints || holds) event.preventDefault();
  }

  canvas.addEventListener("pointerdown", pressed);
  canvas.addEventListener("pointermove", moved);
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointerleave", () => {
    planning.leave();
    if (app.state.hover) app.change({ hover: null });
  });
  canvas.addEventListener("touchstart", touched, { passive: false });
}

function stripRect(pane) {
  const rect = body(pane);
  return { ...rect, y: rect.y + 16, h: rect.h - 16 };
}
