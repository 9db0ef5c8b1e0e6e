// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// The picture of starts with a zoom and a cursor, for who asks for it, in the place of the one that the server has
// drawn. It takes the same numbers, and its colours from the style sheet.
"use strict";

(function zoomableStarts() {
  if (!window.uPlot || !window.fetch) return;

  let drawn = null; // { host, plot }
  let open = false;
  let chosen = null; // what is zoomed to, in seconds since 1970

  function colour(name) {
    // A token has two values, light and dark; only the colour of something shows which is meant.
    const probe = document.createElement("i");
    probe.style.color = "var(" + name + ")";
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  }

  function font() {
    return "11px " + getComputedStyle(document.body).fontFamily;
  }

  function zone() {
    const fleet = document.getElementById("fleet");
    const name = fleet ? fleet.dataset.zone : "";
    return name && name !== "Local" ? name : Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  function clock(at) {
    return new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit", timeZone: zone() }).format(new Date(at * 1000));
  }

  function grouped(n) {
    return new Intl.NumberFormat("en").format(n);
  }

  // The server's address of a minute, as its own picture has it.
  function minuteURL(host, at) {
    const url = new URL(host.dataset.source, location.href);
    url.pathname = "/fleet/minute";
    url.searchParams.set("at", new Date(at * 1000).toISOString().slice(0, 16) + "Z");
    return url.pathname + url.search;
  }

  function options(host, width, read, whole) {
    const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { stroke: () => colour("--line"), width: 1 }, font: font() };
    return {
      width: width,
      height: 260,
      padding: [22, 12, 0, 0],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone()),
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
      scales: { y: { range: (u, least, most) => [0, Math.max(most, 1) * 1.05] } },
      axes: [
        Object.assign({ values: (u, at) => at.map((t) => clock(t).replace(/^\w+,? /, "")) }, axis),
        Object.assign({ size: 52, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000] }, axis),
      ],
      series: [
        {},
        { label: "running at once", stroke: () => colour("--line-strong"), fill: () => colour("--sunken"), width: 1, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
        { label: "starts", stroke: () => colour("--runs-fill"), fill: () => colour("--runs-fill"), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [1, 12, 2], align: 1 }) },
        { label: "fullest", stroke: () => colour("--waits-fill"), fill: () => colour("--waits-fill"), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [1, 12, 4], align: 1 }) },
      ],
      hooks: {
        setCursor: [
          (u) => {
            const n = u.cursor.idx;
            read.textContent = n == null ? "" : clock(u.data[0][n]) + ": " + grouped(u.data[2][n]) + " start, " + grouped(u.data[1][n]) + " running at once";
          },
        ],
        setScale: [
          (u, key) => {
            if (key !== "x") return;
            const all = u.data[0];
            const narrowed = u.scales.x.min > all[0] || u.scales.x.max < all[all.length - 1];
            chosen = narrowed ? { min: u.scales.x.min, max: u.scales.x.max } : null;
            whole.disabled = !narrowed;
          },
        ],
        draw: [marks],
        ready: [
          (u) => {
            let from = null;
            u.over.addEventListener("mousedown", (e) => (from = e.clientX));
            u.over.addEventListener("click", (e) => {
              const n = u.cursor.idx;
              if (n == null || from === null || Math.abs(e.clientX - from) > 3) return;
              location.assign(minuteURL(host, fullestNear(u, n)));
            });
          },
        ],
      },
    };
  }

  // The fullest minute, and where the day begins, have their names.
  function marks(u) {
    const context = u.ctx;
    const scale = devicePixelRatio;
    const most = u.data[2].indexOf(Math.max(...u.data[2]));
    context.save();
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = "600 " + 11 * scale + "px " + getComputedStyle(document.body).fontFamily;
    const write = (text, x, y) => {
      const width = context.measureText(text).width;
      context.fillStyle = colour("--text");
      context.fillText(text, Math.min(Math.max(x, u.bbox.left), u.bbox.left + u.bbox.width - width), y);
    };
    u.data[0].forEach((at) => {
      if (clock(at).endsWith("00:00")) {
        const x = u.valToPos(at, "x", true);
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
        context.strokeStyle = colour("--line-strong");
        context.setLineDash([3 * scale, 3 * scale]);
        context.beginPath();
        context.moveTo(x, u.bbox.top - 4 * scale);
        context.lineTo(x, u.bbox.top + u.bbox.height);
        context.stroke();
        write("midnight", x + 4 * scale, u.bbox.top - 6 * scale);
      }
    });
    const x = u.valToPos(u.data[0][most], "x", true);
    if (u.data[2][most] > 1 && x >= u.bbox.left && x <= u.bbox.left + u.bbox.width) {
      const text = grouped(u.data[2][most]) + " at " + clock(u.data[0][most]).replace(/^\w+,? /, "");
      write(text, x - context.measureText(text).width - 6 * scale, u.valToPos(u.data[2][most], "y", true) + 10 * scale);
    }
    context.restore();
  }

  // Of what lies under a few pixels the fullest minute is meant.
  function fullestNear(u, n) {
    const perPixel = (u.scales.x.max - u.scales.x.min) / 60 / u.over.clientWidth;
    const reach = Math.ceil(perPixel * 3);
    let best = n;
    for (let i = Math.max(0, n - reach); i <= Math.min(u.data[2].length - 1, n + reach); i++) {
      if (u.data[2][i] > u.data[2][best]) best = i;
    }
    return u.data[0][best];
  }

  function button(text, act) {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", act);
    return b;
  }

  function toolsOf(host) {
    let tools = host.querySelector(".zoom-tools");
    if (!tools) {
      tools = document.createElement("div");
      tools.className = "zoom-tools";
      host.append(tools);
    }
    tools.replaceChildren();
    return tools;
  }

  function draw(host, numbers) {
    if (drawn) drawn.plot.destroy();
    const at = numbers.starts.map((_, n) => numbers.from + 60 * n);
    const tools = toolsOf(host);
    const hint = document.createElement("span");
    hint.textContent = "Bars: starts per minute. Grey: running at once. Drag to zoom, click for a list.";
    const read = document.createElement("span");
    read.className = "read";
    const end = { min: at[0], max: at[at.length - 1] };
    const whole = button("Whole day", () => drawn.plot.setScale("x", end));
    whole.disabled = true;
    tools.append(hint, read, whole, button("Zoom out", () => close(host)));
    const plot = document.createElement("div");
    plot.setAttribute("aria-hidden", "true"); // the tables below say it to who does not see it
    host.prepend(plot);
    host.classList.add("zoomable");
    const most = Math.max(...numbers.starts);
    const fullest = numbers.starts.map((n) => (n > 1 && 2 * n >= most ? n : null));
    drawn = { host: host, plot: new uPlot(options(host, host.clientWidth, read, whole), [at, numbers.running, numbers.starts, fullest], plot) };
    if (chosen && chosen.min >= end.min && chosen.max <= end.max) drawn.plot.setScale("x", chosen);
  }

  function show(host) {
    open = true;
    fetch(host.dataset.source, { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : null))
      .then((numbers) => {
        if (!open || !numbers || !numbers.starts.length || !document.contains(host) || host.querySelector(".uplot")) return;
        const focused = host.contains(document.activeElement);
        draw(host, numbers);
        if (focused) host.querySelector(".zoom-tools button:last-child").focus();
      })
      .catch(() => {}); // the picture of the server stays
  }

  function close(host) {
    open = false;
    chosen = null;
    if (drawn) drawn.plot.destroy();
    drawn = null;
    host.classList.remove("zoomable");
    offer(host);
    host.querySelector(".zoom-tools button").focus();
  }

  function offer(host) {
    toolsOf(host).append(button("Zoom in", () => show(host)));
  }

  // The picture of the server has a way to the one with a zoom; a page that was read again shows the latter if it did.
  function enhance() {
    const host = document.getElementById("starts");
    if (!host || host.querySelector(".zoom-tools") || matchMedia("(forced-colors: active)").matches) return;
    if (drawn && !host.querySelector(".uplot")) {
      drawn.plot.destroy();
      drawn = null;
    }
    offer(host);
    if (open) show(host);
  }

  function redraw() {
    if (drawn && document.contains(drawn.host)) drawn.plot.redraw(true, true);
  }

  // Nobody who is choosing a day or zooming is disturbed, and what nobody looks at is not read again.
  document.addEventListener("htmx:beforeRequest", (e) => {
    const fleet = document.getElementById("fleet");
    if (!fleet || e.target !== fleet) return;
    const at = document.activeElement;
    const choosing = at && fleet.contains(at) && at.matches("input, select, textarea");
    if (document.hidden || choosing || fleet.querySelector(".uplot:active")) e.preventDefault();
  });

  let resizing = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => {
      if (drawn && document.contains(drawn.host)) drawn.plot.setSize({ width: drawn.host.clientWidth, height: 260 });
    });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  // A page that was read again has the server's picture anew.
  document.addEventListener("htmx:afterSettle", enhance);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", enhance);
  else enhance();
})();
