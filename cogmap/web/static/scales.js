// Colours that carry numbers. All of them hold for colour-blind readers: viridis and cividis for
// scores, plasma for horizons, blue to orange for differences, Okabe and Ito's for categories.

const STOPS = {
  viridis:
    "440154481a6c472f7d41448739568c31688e2a788e23888e1f988b22a88435b77954c5687ad151a5db36d2e21bfde725",
  cividis:
    "00224e002e6c1e3a6f35456c47516c575d6d666970757575848279948e77a59c74b7a96ec8b866dbc75aeed649fee838",
  plasma:
    "0d08873305975002a26a00a88405a79c179eb12a90c33d80d35171e16462ed7953f68f44fca636fec029f9dc24f0f921",
  grey: "2b2f3640464f565d68a0a6b0d9dce1f4f5f7",
  "difference light": "1a4a8a3f7fc29cc3e6f4f4f2f3c08fd07f2c8a4a0c",
  "difference dark": "8cc4ff3f86c9274a6b25282ea8632ae08f34ffc98a",
};

export const FIELD_SCALES = ["viridis", "cividis", "grey"];
export const GREEN = "#009e73";

const tables = {};

/** 256 colours of a scale as bytes r, g, b. */
export function table(name) {
  if (!tables[name]) {
    const hex = STOPS[name];
    const stops = hex.match(/.{6}/g).map((stop) => stop.match(/../g).map((part) => parseInt(part, 16)));
    tables[name] = new Uint8Array(768);
    for (let i = 0; i < 256; i++) {
      const share = (i / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(share), stops.length - 2);
      for (let k = 0; k < 3; k++) {
        const value = stops[low][k] + (share - low) * (stops[low + 1][k] - stops[low][k]);
        tables[name][3 * i + k] = Math.round(value);
      }
    }
  }
  return tables[name];
}

/** Where in a table a share from 0 to 1 lies. */
export function entry(share) {
  return 3 * Math.max(0, Math.min(255, Math.round(share * 255)));
}

export function colour(name, share) {
  const colours = table(name);
  const k = entry(share);
  return `rgb(${colours[k]} ${colours[k + 1]} ${colours[k + 2]})`;
}

/** Horizons from 1 to the longest, on a log scale. */
export function horizonColour(tau, longest) {
  return colour("plasma", 0.04 + (0.92 * Math.log2(tau)) / Math.max(1, Math.log2(longest)));
}

/** The colour of a position in the maze: blue to yellow from left to right, dark to light from
 *  bottom to top. Colour-blind readers can tell both apart. u and v run from 0 to 1. */
export function placeColour(u, v) {
  const lightness = 0.38 + 0.47 * v;
  const blue = 0.26 - 0.2 * v; // the strongest blue of a light colour is weak, and so is dark yellow
  const yellow = 0.07 + 0.1 * v;
  const b = u < 0.5 ? -blue * (1 - 2 * u) : yellow * (2 * u - 1);
  const a = 0.05 * (1 - Math.abs(2 * u - 1));
  return `oklab(${lightness.toFixed(3)} ${a.toFixed(3)} ${b.toFixed(3)})`;
}

const LOOKS = {
  light: {
    page: "#ffffff", ink: "#1f2430", soft: "#5b6472", faint: "#d9dde3", wall: "#d3d8e0",
    floor: "#f7f8fa", block: "#3b4252", casing: "#ffffff", other: "#15181d", difference: "difference light",
    A: "#0072b2", B: "#d55e00",
  },
  dark: {
    page: "#16181d", ink: "#e8eaee", soft: "#a3abb8", faint: "#343a45", wall: "#39404c",
    floor: "#1b1e24", block: "#5a6579", casing: "#ffffff", other: "#0b0c0f", difference: "difference dark",
    A: "#56b4e9", B: "#f0853a",
  },
};

/** The colours of everything that does not stand for a number. */
export function look(dark) {
  return dark ? LOOKS.dark : LOOKS.light;
}
