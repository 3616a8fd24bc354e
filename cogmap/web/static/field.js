// A field of scores as a picture: one pixel a lattice point, scaled up smoothly.

import { colour, entry, table } from "cogmap/scales.js";
import { LOWEST, number } from "cogmap/state.js";

const scratch = document.createElement("canvas");

/** The range of colours for several fields at once, so that a colour means the same number in all;
 *  numbers below the lowest are drawn as that one. */
export function sharedRange(fields, lowest = LOWEST) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of fields) {
    for (const value of values) {
      low = Math.min(low, Math.max(value, lowest));
      high = Math.max(high, value);
    }
  }
  if (high - low < 0.02) [low, high] = [(low + high) / 2 - 0.01, (low + high) / 2 + 0.01];
  return { low, high, clipped: low === lowest };
}

/** Learned minus exact; scores below the lowest that is drawn count as that one. */
export function difference(learned, exact) {
  return learned.map((value, k) => Math.max(value, LOWEST) - Math.max(exact[k], LOWEST));
}

/** A range with zero in its middle that leaves out the outermost two per cent. */
export function balancedRange(values) {
  const sizes = values.map(Math.abs).sort((a, b) => a - b);
  const high = Math.max(0.02, sizes[Math.floor(0.98 * (sizes.length - 1))] ?? 0);
  return { low: -high, high, beyond: true };
}

/** Paints the values of a map's lattice; walls are to be drawn over it. */
export function paintField(context, map, view, values, range, scale) {
  const [left, low] = map.low.map((v) => Math.floor(v / map.unit)); // in lattice moves
  const w = Math.ceil(map.high[0] / map.unit) - left + 1;
  const h = Math.ceil(map.high[1] / map.unit) - low + 1;
  let grid = new Float32Array(w * h).fill(NaN);
  map.points.forEach(([x, y], k) => {
    grid[(Math.round(y / map.unit) - low) * w + Math.round(x / map.unit) - left] = values[k];
  });
  grid = spread(spread(grid, w, h), w, h);
  scratch.width = w;
  scratch.height = h;
  const brush = scratch.getContext("2d");
  const image = brush.createImageData(w, h);
  const colours = table(scale);
  for (let row = 0; row < h; row++) {
    for (let column = 0; column < w; column++) {
      const value = grid[row * w + column];
      if (Number.isNaN(value)) continue;
      const k = entry((value - range.low) / (range.high - range.low));
      const pixel = 4 * ((h - 1 - row) * w + column); // y upward
      image.data[pixel] = colours[k];
      image.data[pixel + 1] = colours[k + 1];
      image.data[pixel + 2] = colours[k + 2];
      image.data[pixel + 3] = 255;
    }
  }
  brush.putImageData(image, 0, 0);
  // The middle of a pixel is its lattice point.
  const [x, y] = view.place([(left - 0.5) * map.unit, (low + h - 0.5) * map.unit]);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(scratch, x, y, w * view.move, h * view.move);
}

/** Gives empty pixels the mean of their neighbours: the strip beside the walls has no values. */
function spread(grid, w, h) {
  const wider = grid.slice();
  for (let row = 0; row < h; row++) {
    for (let column = 0; column < w; column++) {
      if (!Number.isNaN(grid[row * w + column])) continue;
      let [sum, count] = [0, 0];
      for (let i = Math.max(0, row - 1); i <= Math.min(h - 1, row + 1); i++) {
        for (let j = Math.max(0, column - 1); j <= Math.min(w - 1, column + 1); j++) {
          const value = grid[i * w + j];
          if (!Number.isNaN(value)) [sum, count] = [sum + value, count + 1];
        }
      }
      if (count) wider[row * w + column] = sum / count;
    }
  }
  return wider;
}

/** A colour bar with three numbers, in a strip below a picture. */
export function paintBar(context, { x, y, w }, range, scale, theme, label) {
  const wide = Math.min(280, 0.62 * w);
  const left = x + (w - wide) / 2;
  const top = y + 8;
  const shades = context.createLinearGradient(left, 0, left + wide, 0);
  for (let k = 0; k <= 16; k++) shades.addColorStop(k / 16, colour(scale, k / 16));
  context.fillStyle = shades;
  context.beginPath();
  context.roundRect(left, top, wide, 9, 3);
  context.fill();
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  const marks = [range.low, (range.low + range.high) / 2, range.high];
  marks.forEach((value, k) => {
    context.textAlign = "center";
    const text = (k === 0 && range.clipped ? "≤ " : "") + rounded(value, range);
    context.fillText(text, left + (k / 2) * wide, top + 13);
  });
  if (label) {
    context.textAlign = "right";
    context.fillText(label, left - 10, top - 2);
  }
  context.textAlign = "left";
}

function rounded(value, range) {
  const digits = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(range.high - range.low))));
  const text = value.toFixed(digits);
  return Number(text) === 0 ? "0" : number(Number(text)).replace("-", "−");
}
