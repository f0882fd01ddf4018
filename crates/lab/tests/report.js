// Looks into the report when it has settled: which figures there are, and of which of them, and of which charts, nothing is seen.
addEventListener("load", () => setTimeout(() => {
  const page = document.querySelector("iframe").contentDocument;
  const seen = (element) => element.getBoundingClientRect().height > 20;
  const figures = [...page.querySelectorAll("figure")];
  const drawn = (figure) => [...figure.querySelectorAll(".plot > svg, pre")].some(seen);
  const marks = (plot) => plot.querySelectorAll("svg > g path, svg > g rect, svg > g circle").length;
  const plots = [...page.querySelectorAll(".plot")];
  document.body.dataset.found = JSON.stringify({
    width: page.documentElement.scrollWidth,
    height: page.body.scrollHeight,
    figures: figures.map((figure) => figure.id),
    unseen: figures.filter((figure) => !drawn(figure)).map((figure) => figure.id),
    charts: plots.length,
    empty: plots.filter((plot) => !marks(plot)).map((plot) => plot.id),
  });
}, 500));
