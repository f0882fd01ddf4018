// Looks into the report when it has settled: which figures are seen, what is wider than the page, what was not drawn.
setTimeout(() => {
  const page = document.querySelector("iframe").contentDocument;
  const figures = [...page.querySelectorAll("figure")];
  const seen = (element) => element.getClientRects().length > 0 && element.getBoundingClientRect().height > 20;
  const drawn = (figure) => seen(figure) && [...figure.querySelectorAll(".plot, pre, svg")].filter(seen).length > 0;
  const empty = [...page.querySelectorAll(".plot")].filter((plot) => plot.querySelectorAll("svg g > *").length < 2);
  document.body.dataset.found = JSON.stringify({
    width: page.documentElement.scrollWidth,
    height: page.documentElement.scrollHeight,
    figures: figures.length,
    undrawn: figures.filter((figure) => !drawn(figure)).map((figure) => figure.id),
    empty: empty.map((plot) => plot.id),
    charts: page.querySelectorAll(".plot > svg").length,
  });
}, 1000);
