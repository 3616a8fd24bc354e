// A canvas that is drawn when something has changed, at most once a frame, sharp on any screen.

import { look } from "cogmap/scales.js";

/** `height` is a function of the width; `paint` one of (context, state, rect, theme). */
export function followSheet(app, canvas, height, paint) {
  const context = canvas.getContext("2d");
  let due = false;

  function rect() {
    const w = canvas.parentElement.clientWidth;
    return { x: 0, y: 0, w, h: height(w) };
  }

  function draw() {
    due = false;
    const { w, h } = rect();
    if (w <= 0) return; // it is hidden
    const density = globalThis.devicePixelRatio || 1;
    const [wide, tall] = [Math.round(w * density), Math.round(h * density)];
    if (canvas.width !== wide || canvas.height !== tall) {
      canvas.width = wide;
      canvas.height = tall;
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
    }
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, w, h);
    if (app.state.world) paint(context, app.state, rect(), look(app.state.dark));
  }

  function soon() {
    if (!due) requestAnimationFrame(draw);
    due = true;
  }

  app.onChange(soon);
  new ResizeObserver(soon).observe(canvas.parentElement);

  /** Where an event is, in the units of `paint`. */
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  return { rect, at };
}

/** A line of text where there is nothing to draw. */
export function say(context, rect, text, theme) {
  context.fillStyle = theme.soft;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, rect.x + rect.w / 2, rect.y + rect.h / 2);
  context.textAlign = "left";
}

export function title(context, rect, text, theme) {
  context.fillStyle = theme.ink;
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(text, rect.x, rect.y + 2, rect.w);
}
