// The maze itself: floor, walls, start, goal and the point under the pointer.

import { isWall } from "cogmap/geometry.js";
import { GREEN } from "cogmap/scales.js";

export function paintFloor(context, view, theme) {
  const { x, y, w, h } = view.box;
  context.fillStyle = theme.floor;
  context.fillRect(x, y, w, h);
}

/** Walls as one shape, cut at the edge of the picture. */
export function paintWalls(context, map, view, theme) {
  const { x, y, w, h } = view.box;
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.fillStyle = theme.wall;
  context.beginPath();
  map.rows.forEach((row, i) => {
    for (let j = 0; j < row.length; j++) {
      if (!isWall(map, i, j)) continue;
      let end = j;
      while (end + 1 < row.length && isWall(map, i, end + 1)) end++;
      const [left, top] = view.place([map.low[0] + j * map.cell, map.low[1] + (i + 1) * map.cell]);
      const side = view.scale * map.cell;
      // A little larger on every side, so that no gap shows between walls that touch.
      context.rect(left - 0.3, top - 0.3, (end - j + 1) * side + 0.6, side + 0.6);
      j = end;
    }
  });
  context.fill();
  context.restore();
}

export function paintEnds(context, view, { start, goal, radius }, theme) {
  const [gx, gy] = view.place(goal);
  context.fillStyle = GREEN;
  context.globalAlpha = 0.35;
  context.beginPath();
  context.arc(gx, gy, radius * view.scale, 0, 2 * Math.PI);
  context.fill();
  context.globalAlpha = 1;
  const size = Math.max(8, Math.min(12, view.move));
  context.fillStyle = "#ffffff";
  context.strokeStyle = theme.other;
  context.lineWidth = 2;
  const [sx, sy] = view.place(start);
  context.beginPath();
  context.arc(sx, sy, 0.62 * size, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  star(context, gx, gy, size);
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = "#ffffff";
  context.stroke();
  context.lineWidth = 1.4;
  context.strokeStyle = theme.other;
  context.fillStyle = GREEN;
  context.stroke();
  context.fill();
}

function star(context, x, y, size) {
  context.beginPath();
  for (let k = 0; k < 10; k++) {
    const reach = k % 2 ? 0.45 * size : size;
    const angle = (k * Math.PI) / 5 - Math.PI / 2;
    context.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
  context.closePath();
}

/** A ring around a pixel that shows on light and on dark ground. */
export function paintRing(context, [x, y], radius, theme) {
  for (const [width, stroke] of [[4.5, theme.other], [2, "#ffffff"]]) {
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
