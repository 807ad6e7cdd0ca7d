// Figures under the pointer. The page is complete without this.
(() => {
  const tip = document.getElementById("tip");
  // The same frame as in chart.rs.
  const left = 44, right = 8, width = 540, top = 8, base = 176;
  const nearest = (points, at) => {
    let low = 0, high = points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < at) low = middle + 1; else high = middle;
    }
    return low > 0 && at - points[low - 1][0] < points[low][0] - at ? low - 1 : low;
  };
  for (const svg of document.querySelectorAll("svg[data-rows]")) {
    let series = null, guide = null;
    svg.addEventListener("pointermove", event => {
      series ??= svg.dataset.rows.split("|").map(row => row.split(" ").filter(Boolean).map(p => p.split(":").map(Number)));
      if (!series.some(points => points.length)) return;
      const names = svg.dataset.names.split("|");
      const last = Math.max(1, Number(svg.dataset.last));
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * width;
      const at = Math.min(1, Math.max(0, (x - left) / (width - left - right))) * last;
      const lines = [];
      let place = at, sum = 0;
      series.forEach((points, index) => {
        if (!points.length) return;
        const [request, value] = points[nearest(points, at)];
        place = request;
        sum += value;
        lines.push(`${names[index]}  ${value.toLocaleString("en")}`);
      });
      if (svg.dataset.kind === "areas") {
        lines.reverse();
        if (series.length > 1) lines.push(`everything  ${sum.toLocaleString("en")}`);
      }
      tip.textContent = [`request ${(place + 1).toLocaleString("en")}`, ...lines].join("\n");
      tip.hidden = false;
      const over = event.clientX + 16 + tip.offsetWidth > innerWidth;
      tip.style.left = `${over ? event.clientX - tip.offsetWidth - 16 : event.clientX + 16}px`;
      tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
      if (!guide) {
        guide = document.createElementNS("http://www.w3.org/2000/svg", "path");
        guide.setAttribute("class", "guide");
        svg.append(guide);
      }
      const px = left + (width - left - right) * place / last;
      guide.setAttribute("d", `M${px} ${top}V${base}`);
    });
    svg.addEventListener("pointerleave", () => {
      tip.hidden = true;
      guide?.remove();
      guide = null;
    });
  }
})();
