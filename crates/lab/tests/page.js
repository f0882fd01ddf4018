// Looks into the page when it has settled: what is drawn, and what it answers to a pointer.
addEventListener("load", () => setTimeout(() => {
  const page = document.querySelector("iframe").contentDocument;
  const charts = page.querySelectorAll(".plot > svg").length;
  const width = page.documentElement.scrollWidth;

  const plot = (id) => page.getElementById(id);
  const at = (type, target, x, y) => {
    const place = { clientX: x, clientY: y, bubbles: true, pointerId: 1, isPrimary: true };
    target.dispatchEvent(new page.defaultView.PointerEvent(type, place));
  };

  // The top of the first bar.
  const bars = plot("ch.fig2-0");
  const bar = bars.querySelector("g rect").getBoundingClientRect();
  at("pointermove", bars, bar.left + bar.width / 2, bar.top + 1);
  const tip = bars.querySelector(".tip");
  const hover = tip.hidden ? "nothing" : [...tip.children].map((line) => line.textContent).join("|");

  // One of several curves is hidden.
  const lines = plot("ch.fig4-0");
  const curves = () => [...lines.querySelectorAll("g > path")].filter((path) => path.style.strokeDasharray === "none").length;
  const all = curves();
  lines.nextElementSibling.querySelector("button").click();
  const fewer = curves();

  // A drag from left to right zooms; a button shows all again. A script's pointer cannot be captured.
  lines.setPointerCapture = () => {};
  const box = lines.querySelector("svg").getBoundingClientRect();
  const reset = lines.nextElementSibling.querySelector(".reset");
  at("pointerdown", lines, box.left + box.width * 0.3, box.top + 50);
  at("pointermove", lines, box.left + box.width * 0.7, box.top + 52);
  at("pointerup", lines, box.left + box.width * 0.7, box.top + 52);
  const zoomed = reset.hidden ? "not zoomed" : "zoomed";
  reset.click();
  const whole = reset.hidden ? "whole" : "not whole";

  // Rows of one verdict.
  const rows = () => page.querySelectorAll("#chen-table tbody tr:not([hidden])").length;
  const before = rows();
  page.querySelector(".filter button[data-verdict=differs]").click();
  const after = rows();

  document.body.dataset.found =
    `${charts} charts, ${width} pixels, ${hover}, ${all} then ${fewer} curves, ${zoomed} and ${whole}, ${before} then ${after} rows`;
}, 500));
