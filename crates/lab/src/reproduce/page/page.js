"use strict";
// Charts in SVG, and filters on tables. Colours are the page's, so that light and dark follow its style.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const SOURCES = { model: ", model", simulated: ", simulated", published: ", published", ratio: "" };
  const TOUCH = 28; // How near a finger or pointer is to a point that it means, in pixels.

  function svg(name, attributes, parent, text) {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  function html(name, attributes, parent, text) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  // Numbers for people: as many digits as differ on the axis, or four.
  function shown(value) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
    const size = Math.abs(value);
    return size >= 1e-4 && size < 1e15 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
  }

  // Round numbers between two ends, about `count` of them.
  function ticks(low, high, count) {
    const rough = (high - low) / Math.max(count, 1);
    if (!(rough > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough * 0.999);
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
      found.push(Number((n * step).toPrecision(12)));
    }
    return found;
  }

  function decades(low, high) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const times of [1, 2, 5]) {
        const value = Number((times * 10 ** power).toPrecision(12));
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) found.push(value);
      }
    }
    if (found.length < 3) return ticks(low, high, 6).filter((value) => value > 0);
    return found.length > 9 ? found.filter((value) => /^10*$|^0\.0*1$/.test(String(value))) : found;
  }

  // Where values lie between two ends, in pixels, and back.
  function scale(axis, low, high, from, to) {
    const log = axis.scale === "logarithmic";
    const f = log ? Math.log : (value) => value;
    const back = log ? Math.exp : (value) => value;
    const width = f(high) - f(low) || 1;
    return {
      low, high, log,
      at: (value) => from + ((f(value) - f(low)) / width) * (to - from),
      value: (at) => back(f(low) + ((at - from) / (to - from)) * width),
      ticks: (count) => (log ? decades(low, high) : ticks(low, high, count)),
    };
  }

  function named(axis) {
    return axis.unit ? `${axis.label} (${axis.unit})` : axis.label;
  }

  function isSound(point, chart) {
    const fits = (value, axis) => Number.isFinite(value) && (axis.scale !== "logarithmic" || value > 0);
    return fits(point.x, chart.x) && fits(point.y, chart.y);
  }

  const MARKS = [
    (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
    (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    (x, y, r) => `M${x},${y - 1.2 * r}L${x + 1.15 * r},${y + r}L${x - 1.15 * r},${y + r}Z`,
    (x, y, r) => `M${x},${y - 1.3 * r}L${x + 1.3 * r},${y}L${x},${y + 1.3 * r}L${x - 1.3 * r},${y}Z`,
    (x, y, r) => `M${x},${y + 1.2 * r}L${x + 1.15 * r},${y - r}L${x - 1.15 * r},${y - r}Z`,
  ];

  // How a curve looks: colour, shade and mark say of what, lines and filling where it comes from.
  function look(curve) {
    const { colour, shade, mark } = curve.look;
    const plain = `var(--${colour})`;
    return {
      colour: shade ? `color-mix(in srgb, ${plain} ${Math.max(100 - 30 * shade, 25)}%, var(--ink))` : plain,
      mark: MARKS[mark % MARKS.length],
      line: curve.source !== "published" && curve.source !== "ratio",
      dash: curve.source === "simulated" ? "5 4" : "none",
      marked: curve.source !== "model" || curve.points.length === 1,
      filled: curve.source !== "published",
    };
  }

  function drawMark(parent, style, x, y, r) {
    const fill = style.filled ? style.colour : "var(--ground)";
    svg("path", { d: style.mark(x, y, r), style: `fill:${fill};stroke:${style.colour};stroke-width:2` }, parent);
  }

  function drawInterval(parent, style, x, low, high) {
    const d = `M${x},${low}V${high}M${x - 4},${low}h8M${x - 4},${high}h8`;
    svg("path", { d, style: `stroke:${style.colour};stroke-width:1.5;fill:none` }, parent);
  }

  class Chart {
    constructor(plot) {
      this.plot = plot;
      this.chart = JSON.parse(plot.querySelector("script").textContent);
      this.names = this.chart.x.scale.names;
      this.ratio = this.chart.curves.some((curve) => curve.source === "ratio");
      this.hidden = new Set();
      this.view = null;
      for (const curve of this.chart.curves) {
        curve.points.forEach((point, index) => { point.label = (curve.labels || [])[index]; });
        curve.points = curve.points.filter((point) => isSound(point, this.chart));
      }
      this.legend();
      this.tip = html("div", { class: "tip", hidden: "", role: "status" }, plot);
      this.listen();
      this.resized();
      new ResizeObserver(() => requestAnimationFrame(() => this.resized())).observe(plot);
    }

    legend() {
      const row = html("div", { class: "legend" });
      this.chart.curves.forEach((curve, index) => {
        const button = html("button", { type: "button", "aria-pressed": "true" }, row);
        const style = look(curve);
        const icon = svg("svg", { width: 28, height: 12, "aria-hidden": "true" }, button);
        if (this.names && !this.ratio) this.bar(icon, style, curve, 4, 1, 20, 10);
        else {
          if (style.line) svg("path", { d: "M0,6H28", style: this.stroke(style) }, icon);
          if (style.marked) drawMark(icon, style, 14, 6, 3.5);
        }
        button.append(`${curve.of}${SOURCES[curve.source]}`);
        button.addEventListener("click", () => {
          const hide = !this.hidden.has(index);
          if (hide) this.hidden.add(index);
          else this.hidden.delete(index);
          button.setAttribute("aria-pressed", String(!hide));
          this.draw();
        });
      });
      this.reset = html("button", { type: "button", class: "reset", hidden: "" }, row, "whole view");
      this.reset.addEventListener("click", () => this.show(null));
      this.plot.after(row);
    }

    show(view) {
      this.view = view;
      this.reset.hidden = view === null;
      this.draw();
    }

    visible() {
      return this.chart.curves.filter((_, index) => !this.hidden.has(index));
    }

    resized() {
      const width = Math.round(this.plot.clientWidth);
      if (width > 0 && width !== this.width) {
        this.width = width;
        this.draw();
      }
    }

    // The ends of both axes: what is zoomed to, or all that is to be seen.
    ends() {
      const all = this.chart.curves.flatMap((curve) => curve.points);
      const [x0, x1] = this.names
        ? [-0.5, this.names.length - 0.5]
        : this.view ? this.view.x : this.round(this.chart.x, all.map((point) => point.x), false);
      if (this.view && this.view.y) return { x: [x0, x1], y: this.view.y };
      const seen = this.view
        ? this.visible().flatMap((curve) => curve.points).filter((point) => point.x >= x0 && point.x <= x1)
        : all;
      const ys = (seen.length ? seen : all).flatMap((point) => {
        const half = point.interval || 0;
        return [point.y - half, point.y + half].filter((y) => this.chart.y.scale !== "logarithmic" || y > 0);
      });
      return { x: [x0, x1], y: this.round(this.chart.y, ys, Boolean(this.names)) };
    }

    round(axis, values, fromZero) {
      if (!values.length) return axis.scale === "logarithmic" ? [1, 10] : [0, 1];
      let [low, high] = [Math.min(...values), Math.max(...values)];
      if (axis.scale === "logarithmic") return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
      if (low > 0 && (fromZero || low < 0.5 * high)) low = 0;
      if (high < 0 && fromZero) high = 0;
      if (low === high) [low, high] = [low - 0.5, high + 0.5];
      const pad = (high - low) * 0.05;
      return [low === 0 ? 0 : low - pad, high + pad];
    }

    draw() {
      if (!this.width) return;
      const { chart, width } = this;
      const plain = Math.round(Math.min(Math.max(width * 0.6, 240), 420));
      const ends = this.ends();
      const yTicks = scale(chart.y, ...ends.y, 1, 0).ticks(plain / 55);
      const margin = 30 + 7 * Math.max(...yTicks.map((tick) => shown(tick).length), 1);
      // Long names are turned, and take room below and to the left.
      const longest = 6.4 * Math.max(...(this.names || []).map((name) => name.length), 0);
      const slot = (width - margin - 12) / (this.names || [0]).length;
      const turned = longest > slot;
      const left = turned ? Math.max(margin, longest * 0.82 - slot / 2 + 4) : margin;
      const height = plain + (turned ? Math.round(longest * 0.58) : 0);
      const box = { left, right: width - 12, top: 10, bottom: plain - 46 };
      this.box = box;
      this.x = scale(chart.x, ...ends.x, box.left, box.right);
      this.y = scale(chart.y, ...ends.y, box.bottom, box.top);
      const title = `${named(chart.y)} against ${named(chart.x)}`;
      const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
      this.axes(root, yTicks, height, turned);
      const clip = `clip-${this.plot.id}`;
      const mask = svg("clipPath", { id: clip }, svg("defs", {}, root));
      svg("rect", { x: box.left, y: box.top - 6, width: box.right - box.left + 6, height: box.bottom - box.top + 12 }, mask);
      const curves = svg("g", { "clip-path": `url(#${clip})` }, root);
      this.targets = [];
      this.visible().forEach((curve, index, all) => this.curve(curves, curve, index, all.length));
      this.spot = svg("g", {}, root);
      this.plot.querySelectorAll(":scope > svg").forEach((old) => old.remove());
      this.plot.prepend(root);
      this.root = root;
      root.querySelectorAll("text.label").forEach((label) => this.fit(label));
    }

    // A label that is longer than its axis has room for is written smaller.
    fit(label) {
      const long = label.getComputedTextLength();
      const room = Number(label.dataset.room);
      if (long > room) label.style.fontSize = `${(12 * room) / long}px`;
    }

    axes(root, yTicks, height, turned) {
      const { chart, box, x, y } = this;
      for (const tick of yTicks) {
        const at = y.at(tick);
        svg("path", { class: "grid", d: `M${box.left},${at}H${box.right}` }, root);
        svg("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, root, shown(tick));
      }
      if (this.names) {
        this.names.forEach((name, index) => {
          const [at, below] = [x.at(index), box.bottom + 16];
          const place = turned
            ? { "text-anchor": "end", transform: `translate(${at + 4},${below - 4}) rotate(-35)` }
            : { "text-anchor": "middle", x: at, y: below };
          svg("text", place, root, name);
        });
      } else {
        const found = x.ticks((box.right - box.left) / 70);
        const every = Math.ceil((found.length * 44) / (box.right - box.left));
        found.forEach((tick, index) => {
          const at = x.at(tick);
          svg("path", { class: "grid", d: `M${at},${box.top}V${box.bottom}` }, root);
          if (index % every === 0) svg("text", { x: at, y: box.bottom + 16, "text-anchor": "middle" }, root, shown(tick));
        });
      }
      svg("path", { class: "frame", d: `M${box.left},${box.top}V${box.bottom}H${box.right}` }, root);
      const middle = (box.left + box.right) / 2;
      const below = { x: middle, y: height - 6, "data-room": 2 * Math.min(middle, this.width - middle) };
      svg("text", { class: "label", "text-anchor": "middle", ...below }, root, named(chart.x));
      const centre = (box.top + box.bottom) / 2;
      const across = { transform: `translate(13,${centre}) rotate(-90)`, "data-room": 2 * Math.min(centre, height - centre) };
      svg("text", { class: "label", "text-anchor": "middle", ...across }, root, named(chart.y));
      if (this.ratio && y.low < 1 && y.high > 1) svg("path", { class: "frame", d: `M${box.left},${y.at(1)}H${box.right}` }, root);
    }

    stroke(style) {
      return `stroke:${style.colour};stroke-width:2;fill:none;stroke-dasharray:${style.dash};stroke-linejoin:round`;
    }

    curve(parent, curve, index, count) {
      const style = look(curve);
      if (this.names && !this.ratio) return this.bars(parent, style, curve, index, count);
      const at = curve.points.map((point) => ({ point, curve, x: this.x.at(point.x), y: this.y.at(point.y) }));
      if (style.line && at.length > 1) {
        svg("path", { d: "M" + at.map(({ x, y }) => `${x},${y}`).join("L"), style: this.stroke(style) }, parent);
      }
      for (const { point, x, y } of at) {
        if (point.interval) drawInterval(parent, style, x, this.low(point), this.y.at(point.y + point.interval));
        if (style.marked) drawMark(parent, style, x, y, 4);
      }
      this.targets.push(...at);
    }

    // The lower end of an interval; on a logarithmic axis it may be below all of it.
    low(point) {
      const low = point.y - point.interval;
      return this.y.log && low <= 0 ? this.box.bottom : this.y.at(low);
    }

    bars(parent, style, curve, index, count) {
      const room = ((this.box.right - this.box.left) / this.names.length) * 0.8;
      const width = Math.min(room / count, 48);
      const base = this.y.log ? this.box.bottom : this.y.at(Math.max(0, this.y.low));
      for (const point of curve.points) {
        const left = this.x.at(point.x) + (index - count / 2) * width;
        const [top, middle] = [this.y.at(point.y), left + width / 2];
        this.bar(parent, style, curve, left + 1, Math.min(top, base), Math.max(width - 2, 1), Math.abs(base - top));
        if (point.interval) {
          drawInterval(parent, { colour: "var(--ink)" }, middle, this.low(point), this.y.at(point.y + point.interval));
        }
        this.targets.push({ point, curve, x: middle, y: top });
      }
    }

    bar(parent, style, curve, x, y, width, height) {
      const opacity = { model: 0.35, simulated: 1, published: 0 }[curve.source];
      const dash = curve.source === "published" ? "4 3" : "none";
      const fill = `fill:${style.colour};fill-opacity:${opacity};stroke:${style.colour};stroke-width:1.5;stroke-dasharray:${dash}`;
      svg("rect", { x, y, width, height, style: fill }, parent);
    }

    listen() {
      const at = (event) => {
        const bounds = this.root.getBoundingClientRect();
        const times = this.width / bounds.width;
        return { x: (event.clientX - bounds.left) * times, y: (event.clientY - bounds.top) * times };
      };
      let from = null;
      this.plot.addEventListener("pointerdown", (event) => {
        if (event.button === 0) from = at(event);
        this.point(at(event));
      });
      this.plot.addEventListener("pointermove", (event) => {
        const to = at(event);
        if (from && !this.names && Math.abs(to.x - from.x) > 8) {
          this.plot.setPointerCapture(event.pointerId);
          this.select(from, to);
        } else if (!from) this.point(to);
      });
      this.plot.addEventListener("pointerup", (event) => {
        const to = at(event);
        if (from && !this.names && Math.abs(to.x - from.x) > 8) this.zoom(from, to);
        from = null;
      });
      for (const gone of ["pointercancel", "pointerleave"]) {
        this.plot.addEventListener(gone, () => {
          from = null;
          this.spot?.replaceChildren();
          this.tip.hidden = true;
        });
      }
      this.plot.addEventListener("dblclick", () => this.show(null));
    }

    // What a drag spans; one that hardly goes up or down spans all the height.
    span(from, to) {
      const { box } = this;
      const inside = (value, low, high) => Math.min(Math.max(value, low), high);
      const xs = [from.x, to.x].map((x) => inside(x, box.left, box.right)).sort((a, b) => a - b);
      const flat = Math.abs(to.y - from.y) < 24;
      const ys = flat ? [box.top, box.bottom] : [from.y, to.y].map((y) => inside(y, box.top, box.bottom)).sort((a, b) => a - b);
      return { xs, ys, flat };
    }

    select(from, to) {
      const { xs, ys } = this.span(from, to);
      this.tip.hidden = true;
      this.spot.replaceChildren();
      svg("rect", { class: "select", x: xs[0], y: ys[0], width: xs[1] - xs[0], height: ys[1] - ys[0] }, this.spot);
    }

    zoom(from, to) {
      const { xs, ys, flat } = this.span(from, to);
      if (xs[1] - xs[0] < 4) return this.draw();
      this.show({
        x: xs.map((x) => this.x.value(x)),
        y: flat ? null : [this.y.value(ys[1]), this.y.value(ys[0])],
      });
    }

    // Says what the nearest point is.
    point({ x, y }) {
      const near = this.targets
        .filter((target) => target.x >= this.box.left - 1 && target.x <= this.box.right + 1)
        .map((target) => ({ target, far: Math.hypot(target.x - x, target.y - y) }))
        .sort((one, other) => one.far - other.far)[0];
      this.spot.replaceChildren();
      this.tip.hidden = !near || near.far > TOUCH;
      if (this.tip.hidden) return;
      const { target } = near;
      const { point, curve } = target;
      svg("circle", { cx: target.x, cy: target.y, r: 7, style: "fill:none;stroke:var(--ink);stroke-width:1.5" }, this.spot);
      const { chart } = this;
      const value = (number, axis) => `${shown(number)}${axis.unit ? ` ${axis.unit}` : ""}`;
      const lines = [
        `${curve.of}${SOURCES[curve.source]}`,
        point.label || `${chart.x.label}: ${this.names ? this.names[Math.round(point.x)] : value(point.x, chart.x)}`,
        `${chart.y.label}: ${value(point.y, chart.y)}${point.interval ? ` ± ${shown(point.interval)}` : ""}`,
      ];
      this.tip.replaceChildren(...lines.map((line) => html("div", {}, null, line)));
      const times = this.plot.clientWidth / this.width;
      const half = this.plot.clientWidth / 2;
      const left = target.x * times;
      this.tip.style.left = left < half ? `${left + 12}px` : "auto";
      this.tip.style.right = left < half ? "auto" : `${this.plot.clientWidth - left + 12}px`;
      this.tip.style.top = `${Math.max(target.y * times - 20, 0)}px`;
    }
  }

  document.querySelectorAll(".plot").forEach((plot) => new Chart(plot));

  // Rows of one verdict only.
  document.querySelectorAll(".filter").forEach((filter) => {
    const rows = document.getElementById(filter.dataset.of).querySelectorAll("tbody tr");
    const buttons = filter.querySelectorAll("button");
    buttons.forEach((button) => {
      button.addEventListener("click", () => {
        const only = button.dataset.verdict;
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        rows.forEach((row) => { row.hidden = only !== "" && row.dataset.verdict !== only; });
      });
    });
  });
})();
