/* Maps of rows: points of one plane or two, the same row marked in all of them, and where each row went. */
for (const box of all(".maps")) {
  const data = JSON.parse(box.dataset.map);
  const find = (name) => box.querySelector(name);
  const canvases = all("canvas", box), told = find(".at"), search = find(".search"), lines = find(".lines");
  const n = data.names.length, whole = { x: 0, y: 0, size: data.size }, window_ = { ...whole };
  const hidden = new Set(), base = new Map();
  let chosen = -1, under = null, matches = [];

  /* A canvas shows one plane, or, as an overlay, all of them. */
  const planes = (canvas) => canvas.dataset.plane === "both" ? data.planes : [data.planes[canvas.dataset.plane]];
  const colour = (row) => Math.min(data.groups[row], data.colours.length - 1);
  const shown = (row) => !hidden.has(colour(row));
  const at = (canvas, plane, row) => {
    const scale = canvas.width / window_.size;
    return [(plane[2 * row] - window_.x) * scale, canvas.height - (plane[2 * row + 1] - window_.y) * scale];
  };
  const ratio = () => window.devicePixelRatio || 1;
  const ring = (pen, [x, y], radius) => { pen.beginPath(); pen.arc(x, y, radius, 0, 7); pen.stroke(); };

  function points(pen, canvas, plane, alpha) {
    const radius = ratio() * Math.max(1.1, Math.min(3.6, 60 / Math.sqrt(n)) * Math.min(2, whole.size / window_.size));
    pen.globalAlpha = alpha;
    for (let row = 0; row < n; row++) {
      if (!shown(row)) continue;
      const [x, y] = at(canvas, plane, row);
      if (x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
      pen.fillStyle = data.colours[colour(row)];
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  /* Where the rows that moved farthest were, and where they are. */
  function paths(pen, canvas, ink) {
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.7;
    pen.lineWidth = ratio();
    const count = Number(lines.value);
    for (const row of [...data.order.slice(0, count), ...(chosen >= 0 ? [chosen] : [])].filter(shown)) {
      const [from, to] = data.planes.map((plane) => at(canvas, plane, row));
      pen.beginPath();
      pen.moveTo(...from);
      pen.lineTo(...to);
      pen.stroke();
      ring(pen, from, 2.5 * ratio());
    }
    pen.globalAlpha = 1;
  }

  function name(pen, canvas, [x, y], ink) {
    const full = data.names[chosen], text = full.length > 40 ? `${full.slice(0, 39)}\u2026` : full;
    pen.font = `${13 * ratio()}px system-ui, sans-serif`;
    const width = pen.measureText(text).width, left = Math.max(4, Math.min(x + 10 * ratio(), canvas.width - width - 4));
    const top = y < 30 * ratio() ? y + 24 * ratio() : y - 10 * ratio();
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(left - 4, top - 14 * ratio(), width + 8, 19 * ratio());
    pen.fillStyle = ink;
    pen.fillText(text, left, top);
  }

  function mark(canvas) {
    const pen = canvas.getContext("2d"), ink = getComputedStyle(box).color;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(base.get(canvas), 0, 0);
    if (canvas.dataset.plane === "both") paths(pen, canvas, ink);
    pen.strokeStyle = ink;
    pen.lineWidth = 2 * ratio();
    for (const plane of planes(canvas).slice(-1)) {
      for (const row of matches.slice(0, 200)) ring(pen, at(canvas, plane, row), 5 * ratio());
      if (chosen < 0) continue;
      ring(pen, at(canvas, plane, chosen), 7 * ratio());
      if (canvas === under) name(pen, canvas, at(canvas, plane, chosen), ink);
    }
  }

  function draw() {
    for (const canvas of canvases) {
      canvas.width = canvas.height = Math.max(1, Math.round(canvas.clientWidth * ratio()));
      const still = document.createElement("canvas");
      still.width = still.height = canvas.width;
      const both = planes(canvas).length > 1;
      planes(canvas).forEach((plane, i) => points(still.getContext("2d"), canvas, plane, both && !i ? 0.25 : 0.8));
      base.set(canvas, still);
      mark(canvas);
    }
  }

  function choose(row, canvas = null) {
    [chosen, under] = [row, canvas];
    const lost = data.moved.length && row >= 0 ? `; ${data.moved[row]}% of its nearest rows are different` : "";
    const label = row >= 0 && data.labels[data.groups[row]] ? ` (${data.labels[data.groups[row]]})` : "";
    told.textContent = row < 0 ? told.dataset.empty : `${data.names[row]}${label}${lost}`;
    canvases.forEach(mark);
  }

  /* The row nearest to the pointer, if it is near. */
  function nearest(canvas, event) {
    const [x, y] = [event.offsetX, event.offsetY].map((one) => one * canvas.width / canvas.clientWidth);
    let best = -1, least = (18 * ratio()) ** 2;
    for (const plane of planes(canvas).slice(-1)) {
      for (let row = 0; row < n; row++) {
        const [a, b] = at(canvas, plane, row), away = (a - x) ** 2 + (b - y) ** 2;
        if (away < least && shown(row)) [best, least] = [row, away];
      }
    }
    return best;
  }

  /* Around the row that is chosen, or the middle. */
  function zoom(factor) {
    const plane = data.planes[0], size = Math.min(whole.size, window_.size * factor);
    const x = chosen >= 0 ? plane[2 * chosen] : window_.x + window_.size / 2;
    const y = chosen >= 0 ? plane[2 * chosen + 1] : window_.y + window_.size / 2;
    const inside = (middle) => Math.max(0, Math.min(whole.size - size, middle - size / 2));
    Object.assign(window_, { x: inside(x), y: inside(y), size });
    draw();
  }

  function step(by) {
    const place = data.order.indexOf(chosen);
    choose(data.order[place < 0 ? 0 : (place + by + n) % n], document.activeElement);
  }

  const keys = {
    ArrowRight: () => step(1), ArrowDown: () => step(1), ArrowLeft: () => step(-1), ArrowUp: () => step(-1),
    "+": () => zoom(0.5), "-": () => zoom(2), Escape: () => choose(-1),
  };
  for (const canvas of canvases) {
    for (const kind of ["pointermove", "pointerdown"]) {
      canvas.addEventListener(kind, (event) => choose(nearest(canvas, event), canvas));
    }
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    matches = wanted ? [...data.names.keys()].filter((row) => data.names[row].toLowerCase().includes(wanted)) : [];
    choose(matches.length ? matches[0] : -1);
    if (wanted) told.textContent = `${matches.length} rows match. ${matches.length ? told.textContent : ""}`;
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.length) choose(matches[(matches.indexOf(chosen) + 1) % matches.length]);
  });
  if (lines) lines.addEventListener("input", () => { find(".count").textContent = lines.value; canvases.forEach(mark); });
  for (const one of all(".legend input", box)) {
    one.addEventListener("change", () => {
      if (one.checked) hidden.delete(Number(one.value)); else hidden.add(Number(one.value));
      draw();
    });
  }
  for (const one of all(".zoom button", box)) {
    one.addEventListener("click", () => zoom(Number(one.value)));
  }
  for (const one of all(".movers button", box)) {
    one.addEventListener("click", () => choose(Number(one.value), canvases.at(-1)));
  }
  new ResizeObserver(draw).observe(find(".planes"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
