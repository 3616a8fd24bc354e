// The loss of a training as it runs.

const WINDOW = 8; // reports in a running mean

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
  context.fillText(signed(high), left - 6, y(high) + 3);
  context.fillText(signed(low), left - 6, y(low) - 3);
  context.textAlign = "left";
  // Each report is of a few random horizons and jumps about: dots, and a running mean as the line.
  context.fillStyle = theme.soft;
  context.globalAlpha = 0.55;
  for (const report of reports) {
    context.beginPath();
    context.arc(x(report.step), y(report.loss), 2.2, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  context.strokeStyle = theme.A;
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  reports.forEach(({ step }, k) => {
    const recent = losses.slice(Math.max(0, k - WINDOW + 1), k + 1);
    context.lineTo(x(step), y(recent.reduce((sum, loss) => sum + loss, 0) / recent.length));
  });
  context.stroke();
}

function signed(value) {
  return value.toFixed(2).replace("-0.00", "0.00").replace("-", "−");
}
