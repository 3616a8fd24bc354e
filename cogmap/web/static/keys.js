// The keyboard on the canvas. The page lists these keys under "Keys".

import { painted } from "cogmap/editor.js";
import { nudgeEnd } from "cogmap/ends.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export function followKeys(app, canvas, { refresh, planning, horizon }) {
  let settling = null;

  function moveEnd(which, direction) {
    if (app.source.pick) return app.choose(app.source.next(direction[0] + direction[1] > 0 ? 1 : -1));
    if (!nudgeEnd(app, which, direction)) return;
    app.change({ inspected: null, routes: { A: null, B: null } });
    refresh();
    clearTimeout(settling);
    settling = setTimeout(app.endMoved, 350); // plan once the goal has come to rest
  }

  function turn(by) {
    const { candidate, candidates } = app.state.inspected;
    if (!candidates) return;
    const count = candidates.candidates.length;
    planning.consider((candidate + by + count) % count);
  }

  function onMap(event) {
    const direction = ARROWS[event.key];
    if (direction && app.state.inspected?.pinned) {
      if (direction[0]) planning.walk(direction[0]);
      else turn(direction[1]);
    } else if (direction) {
      moveEnd(event.shiftKey ? "start" : "goal", direction);
    } else if (event.key === " ") horizon.play();
    else if (event.key === "[") horizon.step(-1);
    else if (event.key === "]") horizon.step(1);
    else if (event.key === "Enter" || event.key === "p") planning.plan();
    else if (event.key === "," || event.key === ".") planning.walk(event.key === "." ? 1 : -1);
    else if (event.key === "Escape") planning.forget();
    else return false;
    return true;
  }

  function onEditor(event) {
    const { rows, cursor } = app.state.editor;
    const direction = ARROWS[event.key];
    if (direction) {
      const i = Math.max(0, Math.min(rows.length - 1, cursor[0] + direction[1]));
      const j = Math.max(0, Math.min(rows[0].length - 1, cursor[1] + direction[0]));
      const kind = rows[i][j] === "#" ? "wall" : "floor";
      const status = `Row ${i + 1}, column ${j + 1}: ${kind}.`;
      app.change({ editor: { rows, cursor: [i, j] }, note: "", status });
    } else if (event.key === " " || event.key === "Enter") {
      const mark = rows[cursor[0]][cursor[1]] === "#" ? "." : "#";
      const after = painted(rows, cursor, mark);
      const status = after === rows ? "The border stays wall." : mark === "#" ? "Now a wall." : "Now floor.";
      app.change({ editor: { rows: after, cursor }, status });
    } else return false;
    return true;
  }

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { mode, map } = app.state;
    const steps = { "[": -1, "]": 1 }[event.key];
    let taken = mode === "draw" ? onEditor(event) : mode === "map" && map && onMap(event);
    if (mode === "training" && steps) taken = horizon.step(steps) ?? true;
    if (taken) event.preventDefault();
  });
}
