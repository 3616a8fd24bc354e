// The editor for a maze of one's own: cells are painted with the pointer or the keyboard. Row 0 lies
// at the bottom.

function grid(rows, rect) {
  const side = Math.floor(Math.min(64, rect.w / rows[0].length, rect.h / rows.length));
  return { side, x: rect.x, y: rect.y, h: side * rows.length };
}

export function paintEditor(context, state, rect, theme) {
  const { rows, cursor } = state.editor;
  const { side, x, y, h } = grid(rows, rect);
  rows.forEach((row, i) => {
    [...row].forEach((cell, j) => {
      const [left, top] = [x + j * side, y + h - (i + 1) * side];
      const border = isBorder(rows, i, j);
      context.fillStyle = cell === "#" ? theme.block : theme.wall;
      context.globalAlpha = border ? 0.75 : cell === "#" ? 1 : 0.45;
      context.fillRect(left, top, side - 1, side - 1);
      context.globalAlpha = 1;
    });
  });
  const [i, j] = cursor;
  for (const [width, stroke] of [[5, theme.page], [2.5, theme.A]]) {
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.strokeRect(x + j * side + 1, y + h - (i + 1) * side + 1, side - 3, side - 3);
  }
}

export function isBorder(rows, i, j) {
  return i === 0 || j === 0 || i === rows.length - 1 || j === rows[0].length - 1;
}

/** The cell [row, column] under a pixel, or null. */
export function cellAt(rows, rect, [px, py]) {
  const { side, x, y, h } = grid(rows, rect);
  const [i, j] = [Math.floor((y + h - py) / side), Math.floor((px - x) / side)];
  return i >= 0 && j >= 0 && i < rows.length && j < rows[0].length ? [i, j] : null;
}

/** The rows with one cell painted; the border stays wall. */
export function painted(rows, [i, j], mark) {
  if (isBorder(rows, i, j) || rows[i][j] === mark) return rows;
  return rows.map((row, k) => (k === i ? row.slice(0, j) + mark + row.slice(j + 1) : row));
}

/** The same maze with another number of columns and rows, each from smallest to largest; new cells
 *  are free. */
export function resized(rows, width, height, { smallest, largest }) {
  const clamp = (n) => Math.max(smallest, Math.min(largest, Math.round(n) || smallest));
  const [w, h] = [clamp(width), clamp(height)];
  return Array.from({ length: h }, (_, i) =>
    Array.from({ length: w }, (_, j) => {
      if (i === 0 || j === 0 || i === h - 1 || j === w - 1) return "#";
      const old = i < rows.length - 1 && j < rows[0].length - 1;
      return old ? rows[i][j] : ".";
    }).join(""),
  );
}

export function empty(rows) {
  return rows.map((row, i) => [...row].map((_, j) => (isBorder(rows, i, j) ? "#" : ".")).join(""));
}

/** The number of parts that walls separate; a walk cannot leave the one where it begins. */
export function parts(rows) {
  const seen = new Set();
  let count = 0;
  rows.forEach((row, i) => {
    for (let j = 0; j < row.length; j++) {
      if (row[j] === "#" || seen.has(`${i},${j}`)) continue;
      count++;
      const open = [[i, j]];
      while (open.length) {
        const [a, b] = open.pop();
        if (rows[a]?.[b] !== "." || seen.has(`${a},${b}`)) continue;
        seen.add(`${a},${b}`);
        open.push([a + 1, b], [a - 1, b], [a, b + 1], [a, b - 1]);
      }
    }
  });
  return count;
}
