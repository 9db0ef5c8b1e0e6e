// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// What moves with the time on the timeline, and its keys. Without it the picture stands still, and everything else
// works.
"use strict";

(function timeline() {
  // How far the clock of the server is from the one here, as of the picture that is there.
  let told = "";
  let ahead = 0;

  function move() {
    const chart = document.getElementById("tl");
    if (!chart || document.hidden) return;
    if (told !== chart.dataset.now) {
      told = chart.dataset.now;
      ahead = Number(told) - Date.now();
    }
    const from = Number(chart.dataset.from);
    const until = Number(chart.dataset.until);
    const now = Date.now() + ahead;
    if (now < from || now > until) return;
    const x = (100 * (now - from)) / (until - from);
    for (const line of chart.querySelectorAll("line.tl-now")) {
      line.setAttribute("x1", x + "%");
      line.setAttribute("x2", x + "%");
    }
    for (const text of chart.querySelectorAll("text.tl-now-text")) text.setAttribute("x", x + "%");
    for (const bar of chart.querySelectorAll("rect[data-open]")) {
      const width = x - parseFloat(bar.getAttribute("x"));
      if (width > parseFloat(bar.getAttribute("width"))) bar.setAttribute("width", width + "%");
      const end = bar.parentNode.querySelector("[data-end]");
      if (end) end.setAttribute("x", Math.max(x, parseFloat(end.getAttribute("x"))) + "%");
    }
    // A picture that follows the time is drawn anew once it has moved by a fiftieth of its width.
    const busy = document.activeElement && document.activeElement.closest("form, .tl-track");
    if ("follows" in chart.dataset && now - Number(told) > (until - from) / 50 && !busy) {
      document.body.dispatchEvent(new CustomEvent("changed"));
    }
  }
  setInterval(move, 1000);

  // The next thing in a row, or in the row above or below, at the same place.
  function neighbour(link, key) {
    const track = link.closest(".tl-track");
    const links = [...track.querySelectorAll("a")].sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left);
    const at = links.indexOf(link);
    if (key === "ArrowLeft") return links[at - 1];
    if (key === "ArrowRight") return links[at + 1];
    if (key === "Home") return links[0];
    if (key === "End") return links[links.length - 1];
    const tracks = [...document.querySelectorAll(".tl-track")].filter((t) => t === track || t.querySelector("a"));
    const other = tracks[tracks.indexOf(track) + (key === "ArrowUp" ? -1 : 1)];
    if (!other) return null;
    const x = link.getBoundingClientRect().left;
    let best = null;
    for (const a of other.querySelectorAll("a")) {
      const far = Math.abs(a.getBoundingClientRect().left - x);
      if (!best || far < best.far) best = { a, far };
    }
    return best && best.a;
  }

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !document.getElementById("tl-date")) return;
    if (e.target.closest("input, textarea, select, dialog")) return;
    const link = e.target.closest(".tl-track a");
    if (link && ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(e.key)) {
      e.preventDefault();
      const to = neighbour(link, e.key);
      if (to) to.focus();
      return;
    }
    const key = e.key === "=" ? "+" : e.key;
    const to = document.querySelector("a[data-key=" + CSS.escape(key) + "]");
    if (to) {
      e.preventDefault();
      to.click();
    }
  });

  // A choice counts at once.
  document.addEventListener("change", (e) => {
    if (e.target.matches(".tl-filter select")) e.target.form.requestSubmit();
  });
})();
