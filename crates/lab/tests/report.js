// Looks into the report when it has settled: which figures there are, and of which of them, and of which charts, nothing is seen.
// With all tables opened for a moment it tells, too, of what something is cut off.
addEventListener("load", () => setTimeout(() => {
  const frame = document.querySelector("iframe");
  const page = frame.contentDocument;
  const height = page.body.scrollHeight;
  const open = (whether) => page.querySelectorAll("details").forEach((details) => { details.open = whether; });
  open(true);
  const seen = (element) => element.getBoundingClientRect().height > 20;
  const figures = [...page.querySelectorAll("figure")];
  const drawn = (figure) => [...figure.querySelectorAll(".plot > svg, pre")].some(seen);
  const marks = (plot) => plot.querySelectorAll("svg > g path, svg > g rect, svg > g circle").length;
  const plots = [...page.querySelectorAll(".plot")];
  // What reaches beyond the page on either side, or beyond what scrolls or cuts it.
  const named = (element) => `${(element.closest("[id]") || page.body).id}: ${element.tagName} ${element.textContent.slice(0, 40)}`;
  const width = frame.clientWidth;
  const beyond = (element) => {
    const { left, right } = element.getBoundingClientRect();
    return right > left && (left < -0.5 || right > width + 0.5);
  };
  const cells = [...page.querySelectorAll("th, td, pre, p, dd, li, h2, h3, h4, h5, button, svg, svg text")];
  const scrolls = [...page.querySelectorAll("div, pre, table, section, figure")].filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0);
  const clipped = [...cells.filter(beyond), ...scrolls].map(named).slice(0, 8);
  open(false);
  document.body.dataset.found = JSON.stringify({
    clipped,
    width: page.documentElement.scrollWidth,
    height,
    figures: figures.map((figure) => figure.id),
    unseen: figures.filter((figure) => !drawn(figure)).map((figure) => figure.id),
    charts: plots.length,
    empty: plots.filter((plot) => !marks(plot)).map((plot) => plot.id),
  });
}, 500));
