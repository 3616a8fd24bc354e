// The loss of a training as it runs.

import { number } from "cogmap/state.js";

/** reports: [{step, loss}], of: the last step there will be. */
export function paintLoss(context, reports, of, rect, theme) {
  const [left, bottom] = [rect.x + 44, rect.y + rect.h - 22];
  const [w, h] = [rect.w - 52, rect.h - 30];
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = theme.soft;
  context.strokeStyle = theme.faint;
  context.lineWidth = 1;
  context.strokeRect(left + 0.5, bottom - h + 0.5, w, h);
  context.textBaseline = "top";
  context.fillText("update 0", left, bottom + 6);
  context.textAlign = "right";
  context.fillText(String(of), left + w, bottom + 6);
  context.textAlign = "left";
  if (reports.length < 2) {
    context.textAlign = "center";
    context.fillText("the loss will be drawn here", left + w / 2, bottom - h / 2);
    context.textAlign = "left";
    return;
  }
  const losses = reports.map((report) => report.loss);
  const [low, high] = [Math.min(...losses), Math.max(...losses)];
  const span = high - low || 1;
  const x = (step) => left + (w * step) / Math.max(1, of);
  const y = (loss) => bottom - 4 - ((h - 8) * (loss - low)) / span;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(number(high, 2), left - 6, y(high) + 3);
  context.fillText(number(low, 2), left - 6, y(low) - 3);
  context.textAlign = "left";
  context.strokeStyle = theme.A;
  context.lineWidth = 1.8;
  context.lineJoin = "round";
  context.beginPath();
  for (const report of reports) context.lineTo(x(report.step), y(report.loss));
  context.stroke();
}
