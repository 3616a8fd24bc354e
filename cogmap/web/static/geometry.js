// From the maze's units to the canvas and back, and which places the agent can stand at.

const CLEARANCE = 0.7; // the radius of the agent

/** A map as the page needs it: the message of the server with its lattice indexed. */
export function prepared(map) {
  const index = new Map(map.points.map(([x, y], k) => [key(x, y), k]));
  return { ...map, index };
}

/** A map before it is trained, from rows that are being drawn. */
export function drawnMap(rows, cell) {
  const low = [-1.5 * cell, -1.5 * cell];
  const high = [low[0] + cell * rows[0].length, low[1] + cell * rows.length];
  return { id: null, rows, cell, low, high, points: [], taus: [], exact: false, index: new Map() };
}

function key(x, y) {
  return `${Math.round(x)},${Math.round(y)}`;
}

/** Height over width of what is shown: the map without the outer half of its border. */
export function aspect(map) {
  return (map.high[1] - map.low[1] - map.cell) / (map.high[0] - map.low[0] - map.cell);
}

/** Turns units into pixels within a rectangle, the whole map centred in it, y upward. */
export function view(map, rect) {
  const low = map.low.map((v) => v + map.cell / 2);
  const high = map.high.map((v) => v - map.cell / 2);
  const scale = Math.min(rect.w / (high[0] - low[0]), rect.h / (high[1] - low[1]));
  const [w, h] = [scale * (high[0] - low[0]), scale * (high[1] - low[1])];
  const [left, top] = [rect.x + (rect.w - w) / 2, rect.y + (rect.h - h) / 2];
  return {
    scale,
    box: { x: left, y: top, w, h },
    place: ([x, y]) => [left + scale * (x - low[0]), top + scale * (high[1] - y)],
    unit: ([px, py]) => [low[0] + (px - left) / scale, high[1] - (py - top) / scale],
  };
}

export function inside({ x, y, w, h }, [px, py]) {
  return px >= x && px <= x + w && py >= y && py <= y + h;
}

export function cellOf(map, [x, y]) {
  return [Math.floor((y - map.low[1]) / map.cell), Math.floor((x - map.low[0]) / map.cell)];
}

export function isWall(map, row, column) {
  return map.rows[row]?.[column] !== ".";
}

/** Whether the agent can stand there without touching a wall. */
export function standable(map, [x, y]) {
  const [row, column] = cellOf(map, [x, y]);
  if (isWall(map, row, column)) return false;
  for (let i = row - 1; i <= row + 1; i++) {
    for (let j = column - 1; j <= column + 1; j++) {
      if (!isWall(map, i, j)) continue;
      const [left, low] = [map.low[0] + j * map.cell, map.low[1] + i * map.cell];
      const dx = x - Math.max(left, Math.min(left + map.cell, x));
      const dy = y - Math.max(low, Math.min(low + map.cell, y));
      if (Math.hypot(dx, dy) < CLEARANCE) return false;
    }
  }
  return true;
}

/** The lattice point that lies closest. */
export function nearest(points, [x, y]) {
  let best = -1;
  let least = Infinity;
  points.forEach(([px, py], k) => {
    const gap = (px - x) ** 2 + (py - y) ** 2;
    if (gap < least) [best, least] = [k, gap];
  });
  return best;
}

/** Where a pointer may put the start or the goal, and whether that is somewhere else. */
export function settled(map, [x, y]) {
  const rounded = [Math.round(10 * x) / 10, Math.round(10 * y) / 10];
  if (standable(map, rounded)) return { place: rounded, moved: false };
  const place = map.points[nearest(map.points, [x, y])];
  return { place, moved: true, wall: isWall(map, ...cellOf(map, [x, y])) };
}

/** The lattice neighbour in a direction, or null where there is a wall. */
export function neighbour(map, place, [dx, dy]) {
  const [x, y] = map.points[nearest(map.points, place)];
  const k = map.index.get(key(x + dx, y + dy));
  return k === undefined ? null : map.points[k];
}

export function stateAt(map, [x, y]) {
  return map.index.get(key(x, y)) ?? -1;
}
