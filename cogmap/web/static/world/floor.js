// The plan of a building: its floor and walls, G at each place, and ends with the way they look.

import { paintEnds } from "cogmap/maze.js";
import { colour } from "cogmap/scales.js";

const SEEN = Math.PI / 4; // to either side of where the agent looks

/** A place as typed: x,z or x,z,heading; null where it is none. */
export function end(text) {
  const numbers = text.split(",").map((part) => (part.trim() ? Number(part) : NaN));
  if (numbers.length < 2 || numbers.length > 3 || !numbers.every(Number.isFinite)) return null;
  return { place: numbers.slice(0, 2), heading: numbers[2] ?? null };
}

/** The same as text; a heading of null is left out. */
export function typed([x, z], heading) {
  return [x, z, ...(heading === null ? [] : [heading])].join(",");
}

/** Degrees to the left of up. */
export function degrees(world, heading) {
  return (360 / world.floor.headings) * heading;
}

/** Where a heading points on the screen. */
function direction(world, heading) {
  const angle = (degrees(world, heading) * Math.PI) / 180;
  return [-Math.sin(angle), -Math.cos(angle)];
}

/** Floor, G as a square a place, and walls. `shown` as cloud.js shades points; null: not known yet. */
export function paintFloor(context, { world, points }, place, shown, theme) {
  const { floor } = world;
  const inside = new Path2D();
  for (const triangle of floor.triangles) {
    inside.moveTo(...place(triangle[0]));
    for (const corner of triangle.slice(1)) inside.lineTo(...place(corner));
    inside.closePath();
  }
  context.fillStyle = theme.faint;
  context.fill(inside);
  if (shown) {
    context.save();
    context.clip(inside);
    const side = place([floor.spacing, 0])[0] - place([0, 0])[0];
    points.points.map(place).forEach(([x, y], k) => {
      context.fillStyle = colour("viridis", (shown.values[k] - shown.range.low) / (shown.range.high - shown.range.low));
      context.fillRect(x - side / 2 - 0.3, y - side / 2 - 0.3, side + 0.6, side + 0.6);
    });
    context.restore();
  }
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.lineCap = "round";
  context.beginPath();
  for (const [a, b] of floor.walls) {
    context.moveTo(...place(a));
    context.lineTo(...place(b));
  }
  context.stroke();
}

/** Start and goal where they are typed, each with where it looks if that is told. */
export function paintTyped(context, { world, start, goal, points }, place, theme) {
  const [from, to] = [start, goal].map((text) => located(world, points, end(text)));
  if (!from || !to) return;
  const scale = place([1, 0])[0] - place([0, 0])[0];
  const [one, two] = [from.at, to.at].map(place);
  for (const [at, { heading }] of [[one, from], [two, to]]) {
    if (heading !== null) paintArrow(context, at, direction(world, heading), 22, theme);
  }
  const still = { place: (pixel) => pixel, scale: 1, move: 10 };
  paintEnds(context, still, { start: one, goal: two, radius: world.floor.reach * scale }, theme);
}

/** A typed end in the plane: rows are places, so two of them tell how metres become the plane's. */
function located(world, { points }, found) {
  if (!found) return null;
  const { rows } = world;
  const at = [0, 1].map((axis) => {
    const low = rows.reduce((a, row, k) => (row[axis] < rows[a][axis] ? k : a), 0);
    const high = rows.reduce((a, row, k) => (row[axis] > rows[a][axis] ? k : a), 0);
    const share = (found.place[axis] - rows[low][axis]) / Math.max(1e-9, rows[high][axis] - rows[low][axis]);
    return points[low][axis] + share * (points[high][axis] - points[low][axis]);
  });
  return { at, heading: found.heading };
}

function paintArrow(context, [x, y], [dx, dy], long, theme) {
  for (const [width, stroke] of [[5.5, "#ffffff"], [2.4, theme.other]]) {
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + long * dx, y + long * dy);
    context.moveTo(x + long * dx + 6 * (-dx - dy), y + long * dy + 6 * (-dy + dx));
    context.lineTo(x + long * dx, y + long * dy);
    context.lineTo(x + long * dx + 6 * (-dx + dy), y + long * dy + 6 * (-dy - dx));
    context.stroke();
  }
}

/** What the agent has before it at a pixel. */
export function paintGaze(context, world, [x, y], heading, theme) {
  const [dx, dy] = direction(world, heading);
  const ahead = Math.atan2(dy, dx);
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, 36, ahead - SEEN, ahead + SEEN);
  context.closePath();
  context.globalAlpha = 0.45;
  context.fillStyle = "#ffffff";
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = theme.other;
  context.lineWidth = 1.2;
  context.stroke();
}

/** Which way a candidate goes, as seen by the agent; paler where it only turns. */
export function paintBearing(context, { bearing, goes }, [x, y], theme) {
  const angle = (bearing * Math.PI) / 180;
  const [dx, dy] = [-Math.sin(angle), -Math.cos(angle)];
  const [ex, ey] = [x + 6 * dx, y + 6 * dy];
  context.strokeStyle = goes ? theme.ink : theme.soft;
  context.globalAlpha = goes ? 1 : 0.55;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 6 * dx, y - 6 * dy);
  context.lineTo(ex, ey);
  context.moveTo(ex + 3.5 * (-dx - dy), ey + 3.5 * (-dy + dx));
  context.lineTo(ex, ey);
  context.lineTo(ex + 3.5 * (-dx + dy), ey + 3.5 * (-dy - dx));
  context.stroke();
  context.globalAlpha = 1;
}
