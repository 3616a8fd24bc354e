// From the simulator's units to the canvas and back, and where the agent can stand. Every length of
// the maze (cell, lattice move, radius of the agent) comes with the map from the server.

/** A map as the page needs it: the message of the server with its lattice indexed. */
export function prepared(map) {
  const index = new Map(map.points.map((point, k) => [key(map, point), k]));
  return { ...map, index };
}

/** The map of a maze that is still being trained, from the message about its training. */
export function mapOfJob({ rows, low, high, cell, unit, points }) {
  return prepared({ id: null, rows, low, high, cell, unit, points, taus: [], exact: false });
}

/** Names the lattice point nearest to a position. */
function key({ unit }, [x, y]) {
  return `${Math.round(x / unit)},${Math.round(y / unit)}`;
}

/** Height over width of what is shown: the map without the outer half of its border. */
export function aspect(map) {
  return (map.high[1] - map.low[1] - map.cell) / (map.high[0] - map.low[0] - map.cell);
}

/** How the whole map lies in a rectangle, y upward: `place` turns a position into a pixel, `unit` a
 *  pixel into a position; `scale` is pixels a simulator unit, `move` pixels a lattice move. */
export function view(map, rect) {
  const low = map.low.map((v) => v + map.cell / 2);
  const high = map.high.map((v) => v - map.cell / 2);
  const scale = Math.min(rect.w / (high[0] - low[0]), rect.h / (high[1] - low[1]));
  const [w, h] = [scale * (high[0] - low[0]), scale * (high[1] - low[1])];
  const [left, top] = [rect.x + (rect.w - w) / 2, rect.y + (rect.h - h) / 2];
  return {
    scale,
    move: scale * map.unit,
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
      if (Math.hypot(dx, dy) < map.agent_radius) return false;
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

/** The position nearest to the pointer where the start or the goal may lie, in tenths of a move;
 *  `moved` if the agent cannot stand at the pointer itself. */
export function settled(map, [x, y]) {
  const rounded = [x, y].map((v) => (Math.round((10 * v) / map.unit) / 10) * map.unit);
  if (standable(map, rounded)) return { place: rounded, moved: false };
  const place = map.points[nearest(map.points, [x, y])];
  return { place, moved: true, wall: isWall(map, ...cellOf(map, [x, y])) };
}

/** The lattice neighbour in a direction, or null where there is a wall. */
export function neighbour(map, place, [dx, dy]) {
  const [x, y] = map.points[nearest(map.points, place)];
  const k = map.index.get(key(map, [x + dx * map.unit, y + dy * map.unit]));
  return k === undefined ? null : map.points[k];
}

/** The number of the lattice point at a position, or -1. */
export function stateAt(map, place) {
  return map.index.get(key(map, place)) ?? -1;
}
