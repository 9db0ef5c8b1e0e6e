// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// What a run writes, while it does: new lines come by server-sent events and are put to the end of the output. Where the
// viewer looks at the end he stays there, elsewhere he is left in peace. Everything is put in as text. A page that nobody
// looks at does not listen, and goes on where it was when somebody does: a browser has six connections for all its windows.
"use strict";

(function output() {
  // So many lines are kept in the page; older ones are a link away.
  const most = 3000;
  const batch = 500;
  let source = null;
  let stream = "";
  // How far the lines of the stream are known: the ID of its last event.
  let place = "";
  let paused = false;
  let waiting = [];

  const find = (id) => document.getElementById(id);

  function tell(text) {
    const state = find("output-state");
    if (state && state.textContent !== text) state.textContent = text;
  }

  function atEnd(box) {
    // In a reversed column the end is 0 and what lies above it negative.
    return Math.abs(box.scrollTop) < 8 || !box.classList.contains("at-end") && box.scrollHeight - box.scrollTop - box.clientHeight < 8;
  }

  function element(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  function bytes(n) {
    return n < 1024 ? n + " bytes" : n < 1024 * 1024 ? Math.round(n / 1024) + " KiB" : Math.round(n / 1024 / 1024) + " MiB";
  }

  function lineOf(l) {
    const line = element("div", l.e ? "line err" : "line");
    line.id = "L" + l.n;
    const number = element("a", "n", String(l.n));
    number.href = "#L" + l.n;
    number.tabIndex = -1;
    number.setAttribute("aria-hidden", "true");
    line.append(number);
    if (l.t) line.append(element("span", "at", l.t));
    if (l.e) line.append(element("span", "stream", "err"));
    const text = element("span", "text");
    for (const [style, part] of l.p) text.append(style ? element("span", style, part) : part);
    if (l.c) text.append(element("span", "cut", "… " + bytes(l.c) + " more in this line; the download has them"));
    line.append(text);
    return line;
  }

  // Lines that leave are behind the links to earlier ones.
  function trim(log) {
    const surplus = log.children.length - most;
    if (surplus < batch) return;
    for (let n = 0; n < surplus; n++) log.firstElementChild.remove();
    const first = log.querySelector(".line[id]");
    let nav = find("output-earlier");
    if (!first) return;
    const address = new URL(location.href);
    address.searchParams.set("attempt", find("output-lines").dataset.attempt);
    address.searchParams.set("line", String(Math.max(1, Number(first.id.slice(1)) - batch)));
    address.hash = "output";
    if (!nav) {
      nav = element("nav", "lines-nav");
      nav.id = "output-earlier";
      nav.setAttribute("aria-label", "Earlier lines");
      nav.append(element("a", "", "Earlier lines"));
      find("output-box").before(nav);
    }
    const links = nav.querySelectorAll("a");
    links[links.length - 1].href = address.pathname + address.search + address.hash;
  }

  function show(nodes) {
    const box = find("output-box");
    const log = find("output-log");
    if (!box || !log || nodes.length === 0) return;
    const end = atEnd(box);
    const above = box.scrollTop;
    const height = box.scrollHeight;
    log.append(...nodes);
    const empty = find("output-empty");
    if (empty) empty.remove();
    if (end) {
      trim(log);
      box.scrollTop = box.classList.contains("at-end") ? 0 : box.scrollHeight;
    } else if (box.classList.contains("at-end") && box.scrollTop === above) {
      box.scrollTop = above - (box.scrollHeight - height);
    }
    const where = find("output-where");
    const last = log.querySelector(".line[id]:last-of-type") || log.lastElementChild;
    if (where && last && last.id) where.textContent = Number(last.id.slice(1)).toLocaleString("en") + " lines so far";
  }

  function take(nodes) {
    if (!paused) {
      show(nodes);
      return;
    }
    waiting.push(...nodes);
    if (waiting.length > most) waiting.splice(0, waiting.length - most);
    tell("paused, " + waiting.length + " new lines");
  }

  function changed() {
    document.body.dispatchEvent(new CustomEvent("changed"));
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  // Whether the stream tells of changes, too, so that the page needs no other.
  function tells(lines, does) {
    if (does === "tells" in lines.dataset) return;
    if (does) lines.dataset.tells = "";
    else delete lines.dataset.tells;
    document.dispatchEvent(new CustomEvent("listen"));
  }

  // Events say the place behind them; those of lines that are known already are left out.
  function fresh(e, lines) {
    const known = Number(place.split(" ")[2] || 0);
    place = e.lastEventId || place;
    return lines.filter((l) => l.n > known);
  }

  function open() {
    const lines = find("output-lines");
    const address = lines && lines.dataset.stream;
    if (!address || source || document.hidden || stream === "ended " + address) return;
    const from = new URL(address, location.href);
    if (stream !== address) place = from.searchParams.get("after") || "";
    stream = address;
    if (place) from.searchParams.set("after", place);
    const live = lines.querySelector(".live");
    if (live) live.hidden = false;
    let lost = false;
    source = new EventSource(from);
    source.addEventListener("open", () => {
      tell(paused ? "paused" : "live");
      tells(lines, true);
      if (lost) document.dispatchEvent(new CustomEvent("heard")); // what changed meanwhile was not told
      lost = false;
    });
    source.addEventListener("changed", () => document.dispatchEvent(new CustomEvent("heard")));
    source.addEventListener("lines", (e) => take(fresh(e, JSON.parse(e.data)).map(lineOf)));
    source.addEventListener("attempt", (e) => {
      place = e.lastEventId || place;
      const a = JSON.parse(e.data);
      lines.dataset.attempt = a.id;
      const field = lines.querySelector("input[name=attempt]");
      if (field) field.value = a.id;
      for (const line of document.querySelectorAll("#output-log .line[id]")) line.removeAttribute("id");
      take([element("div", "next-attempt", "Attempt " + a.number + ": container " + a.container + " of Pod " + a.pod)]);
      changed();
    });
    source.addEventListener("end", (e) => {
      close();
      stream = "ended " + address;
      tells(lines, false);
      tell(JSON.parse(e.data).run ? "the run has ended" : "this attempt has ended");
      const pause = find("output-pause");
      if (pause && !paused) pause.hidden = true;
      changed();
      setTimeout(changed, 1500); // what the run used is known a moment later
    });
    source.addEventListener("error", () => {
      lost = true;
      tell("not live: Carillon does not answer");
      if (source && source.readyState === EventSource.CLOSED) {
        source = null;
        tells(lines, false);
        setTimeout(open, 5000);
      }
    });
  }

  document.addEventListener("click", (e) => {
    const button = e.target.closest("#output-pause");
    if (!button) return;
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.lastChild.textContent = paused ? "Go on" : "Pause";
    if (!paused) {
      show(waiting);
      waiting = [];
    }
    tell(paused ? "paused" : source ? "live" : "ended");
    if (!paused && !source) button.hidden = true;
  });

  // The output grows by itself: when the rest of the page is read again, it stays as it is, with its search, what is
  // chosen in it, and the place that one looks at.
  if (window.Idiomorph) {
    Idiomorph.defaults.callbacks.beforeNodeMorphed = (old, fresh) => {
      const lines = find("output-lines");
      if (!lines || old !== lines && old.id !== "output-where") return true;
      const kept = old === lines && fresh.dataset && fresh.dataset.keep !== undefined;
      return !(lines.dataset.stream || kept || old.id === "output-where" && fresh.textContent === "");
    };
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  document.addEventListener("DOMContentLoaded", open);
  if (document.readyState !== "loading") open();
  document.addEventListener("htmx:afterSettle", open);
})();

// How long it runs goes on between two readings of the page.
(function lasting() {
  function words(n) {
    const unit = (size, name, less, letter) => Math.floor(n / size) + name + (Math.floor((n % size) / less) ? Math.floor((n % size) / less) + letter : "");
    if (n < 60) return n + "s";
    if (n < 3600) return unit(60, "m", 1, "s");
    if (n < 172800) return unit(3600, "h", 60, "m");
    return Math.round(n / 86400) + " days";
  }

  setInterval(() => {
    if (document.hidden) return;
    for (const e of document.querySelectorAll("[data-since]")) {
      const n = Math.floor(Date.now() / 1000) - Number(e.dataset.since);
      if (n > 0) e.textContent = words(n);
    }
  }, 1000);
})();
